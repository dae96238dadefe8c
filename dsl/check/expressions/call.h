#pragma once

// What the files about calls share: `arguments.cpp` binds what was given, `call_function.cpp`, `construct.cpp`,
// `apply.cpp` and `call_method.cpp` call what is meant, `check_call.cpp` finds out what that is.

#include <functional>

#include "dsl/check/expressions/expressions.h"

namespace ltr::check {

/// The binders and params of a signature that a call gives values for.
std::set<AtomId> free_atoms(const FnInfo& fn);
/// Dims of a result that no argument told are not known.
void forget_unbound(Type& type, const std::set<AtomId>& free, Context& cx);
/// Reads the arguments of a call, and says whether they fit.
using ReadArguments = std::function<bool(CallSite& site)>;
/// `read`; if what was given does not fit its params, but would with two arguments in each other's place, or a layer of that
/// name is what can be built here, where what is called gives a tensor as `result`, that is what is said, once.
bool read_or_blame_order(CallSite& site, const std::vector<ParamInfo>& params, const Type& result,
                         const ReadArguments& read);
/// The default of a param, in which those in front of it are what is given for them: `before`.
Expr default_of(const std::vector<ParamInfo>& params, size_t index, std::vector<Expr>& before, uint32_t module,
                Scope& scope, GivenOnce* once = nullptr);
/// Reports what is wrong with defaults, which calls that give all arguments do not read.
void check_defaults(const std::vector<ParamInfo>& params, uint32_t module, Scope& scope);
/// A param that could not be read: what fits it is not known.
bool has_broken_param(const std::vector<ParamInfo>& params);
/// Whether it is a type that a call may be given by its name: `int`, `str`, `f64`.
bool is_type_name(const std::string& name);
/// Reads what stands behind a mistake: of what that reports unknown names are told, and nothing else.
void look_up_names(Context& cx, const std::function<void()>& read);
/// Looks at the arguments for mistakes of their own.
Expr ignore_arguments(CallSite& site);

/// Reports that a metric has no `update` or `compute` where `fn` is one of them, once for all its uses. False if it is there.
bool report_lacking(ObjectInfo& metric, const std::string& fn, Span use, Context& cx);
/// Notes where what `call` calls is written, where that is not the place of the call.
void note_element(Expr& call, std::optional<Span> place, const Context& cx);
/// Calls what a name of a module stands for.
Expr call_symbol(const Symbol& symbol, CallSite& site);
/// `base.name(…)`.
Expr call_method(const ast::Field& field, std::vector<Given> given, Span span, Scope& scope);

/// Whether a padding is given as the word "same".
bool is_padding_word(const ParamInfo& param, const Given& given);
/// The padding that it stands for, by the kernel and dilation among all args; E0319 unless the stride is 1.
Expr padding_of_word(const PaddingOf& padding, const std::vector<Expr>& args, Span span, Scope& scope);

}  // namespace ltr::check
