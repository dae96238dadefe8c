#include "codegen/extern_check/signature.h"

#include <algorithm>

#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendAction.h>
#include <clang/Lex/Lexer.h>
#include <clang/Tooling/CompilationDatabase.h>
#include <clang/Tooling/Tooling.h>

namespace ltr::extern_check {

namespace {

constexpr const char* kExpected = "ltr_expected";

Place place_of(clang::SourceLocation location, const clang::SourceManager& sources,
               const clang::LangOptions& language) {
  const clang::PresumedLoc presumed = sources.getPresumedLoc(sources.getExpansionLoc(location));
  if (presumed.isInvalid()) return {};
  const unsigned length = clang::Lexer::MeasureTokenLength(location, sources, language);
  return {presumed.getFilename(), presumed.getLine(), presumed.getColumn(), length};
}

class Visitor : public clang::RecursiveASTVisitor<Visitor> {
 public:
  Visitor(clang::ASTContext& context, Reading& reading) : context_(context), reading_(reading) {}

  bool VisitFunctionDecl(clang::FunctionDecl* function) {
    if (llvm::isa<clang::CXXMethodDecl>(function)) return true;
    const auto* space = llvm::dyn_cast<clang::NamespaceDecl>(function->getDeclContext());
    const bool is_expected = space != nullptr && space->getName() == kExpected;
    if (is_expected) reading_.expected.push_back(signature(*function));
    const clang::SourceManager& sources = context_.getSourceManager();
    const bool is_own = function->isThisDeclarationADefinition() &&
                        sources.isInMainFile(sources.getExpansionLoc(function->getLocation()));
    if (!is_expected && is_own && function->getDeclContext()->isFileContext())
      reading_.defined.push_back(signature(*function));
    return true;
  }

 private:
  Param param(const std::string& name, clang::QualType type, clang::SourceLocation location) const {
    const clang::PrintingPolicy policy(context_.getLangOpts());
    return {name, type.getAsString(policy), type.getCanonicalType().getAsString(policy), place(location)};
  }

  Place place(clang::SourceLocation location) const {
    return place_of(location, context_.getSourceManager(), context_.getLangOpts());
  }

  Signature signature(const clang::FunctionDecl& function) const {
    Signature made;
    made.name = function.getNameAsString();
    const std::string qualified = function.getQualifiedNameAsString();
    made.scope = qualified.substr(0, qualified.size() - made.name.size());
    made.is_local = !function.isExternallyVisible();
    made.place = place(function.getLocation());
    made.result = param("", function.getReturnType(), function.getReturnTypeSourceRange().getBegin());
    for (const clang::ParmVarDecl* one : function.parameters()) {
      const clang::SourceLocation at = one->getName().empty() ? one->getBeginLoc() : one->getLocation();
      made.params.push_back(param(one->getNameAsString(), one->getType(), at));
    }
    return made;
  }

  clang::ASTContext& context_;
  Reading& reading_;
};

class Consumer : public clang::ASTConsumer {
 public:
  explicit Consumer(Reading& reading) : reading_(reading) {}

  void HandleTranslationUnit(clang::ASTContext& context) override {
    Visitor(context, reading_).TraverseDecl(context.getTranslationUnitDecl());
    const clang::SourceManager& sources = context.getSourceManager();
    for (auto file = sources.fileinfo_begin(); file != sources.fileinfo_end(); ++file) {
      const clang::FileID id = sources.translateFile(file->first);
      if (id.isValid() && clang::SrcMgr::isSystem(sources.getFileCharacteristic(sources.getLocForStartOfFile(id))))
        continue;
      reading_.inputs.push_back(file->first.getName().str());
    }
    std::sort(reading_.inputs.begin(), reading_.inputs.end());
  }

 private:
  Reading& reading_;
};

class Action : public clang::ASTFrontendAction {
 public:
  explicit Action(Reading& reading) : reading_(reading) {}

  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler, llvm::StringRef) override {
    // Set here, before parsing: bodies in headers take most of the time, and no body matters.
    compiler.getFrontendOpts().SkipFunctionBodies = true;
    return std::make_unique<Consumer>(reading_);
  }

 private:
  Reading& reading_;
};

class Factory : public clang::tooling::FrontendActionFactory {
 public:
  explicit Factory(Reading& reading) : reading_(reading) {}
  std::unique_ptr<clang::FrontendAction> create() override { return std::make_unique<Action>(reading_); }

 private:
  Reading& reading_;
};

class Errors : public clang::DiagnosticConsumer {
 public:
  explicit Errors(Reading& reading) : reading_(reading) {}

  void BeginSourceFile(const clang::LangOptions& language, const clang::Preprocessor*) override {
    language_ = language;
  }

  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& diagnostic) override {
    clang::DiagnosticConsumer::HandleDiagnostic(level, diagnostic);
    if (level < clang::DiagnosticsEngine::Error) return;
    llvm::SmallString<200> text;
    diagnostic.FormatDiagnostic(text);
    Place place;
    if (diagnostic.hasSourceManager())
      place = place_of(diagnostic.getLocation(), diagnostic.getSourceManager(), language_);
    reading_.errors.push_back({std::move(place), text.str().str()});
  }

 private:
  Reading& reading_;
  clang::LangOptions language_;
};

}  // namespace

Reading read(const std::string& file, const std::vector<std::string>& flags) {
  Reading reading;
  // Whatever the file is called.
  std::vector<std::string> as_cpp = {"-xc++"};
  as_cpp.insert(as_cpp.end(), flags.begin(), flags.end());
  const clang::tooling::FixedCompilationDatabase database(".", as_cpp);
  clang::tooling::ClangTool tool(database, {file});
  Errors errors(reading);
  Factory factory(reading);
  tool.setDiagnosticConsumer(&errors);
  tool.setPrintErrorMessage(false);
  if (tool.run(&factory) != 0 && reading.errors.empty()) reading.errors.push_back({{}, "clang could not read it"});
  return reading;
}

}  // namespace ltr::extern_check
