#pragma once

// Where output goes and how it looks (runtime.md 11). Results go to stdout; the bar, notices and errors to stderr.

#include <memory>

#include "runtime/train/progress.h"

namespace ltr::cli {

/// `style` of `ProgressBar`. `Auto`: a bar on a terminal, lines elsewhere.
enum class BarStyle { Auto, Bar, Lines, None };

struct Terminal {
  bool is_quiet = false;
  bool is_json = false;
  bool is_output_taken = false;  ///< stdout is for rows: what the program prints goes to stderr
  bool has_bar = false;          ///< stderr is a terminal, and nobody said --no-bar
  BarStyle style = BarStyle::Auto;
  int64_t bar_rate = 10;  ///< how often the bar is drawn, a second
  bool has_color = false;
  bool has_notices = true;   ///< `--log-level` of info or debug
  bool has_warnings = true;  ///< of warn or more
};

/// `color`: auto, always or never; `NO_COLOR` and what is no terminal turn it off.
Terminal make_terminal(bool quiet, bool json, bool no_bar, const Str& color);

/// To stdout. Once that fails, a closed pipe or a full device, what follows is dropped.
void print_out(const Str& text);
/// Why stdout takes nothing any more, "" while it does.
Str output_fault();
/// R1004 if it does not: for verbs whose output is their result. A reader that closed its pipe has all that it wanted,
/// however much of the rest was written by then.
void check_output();
/// Whether it did: nobody waits for more.
bool is_output_closed();
void print_err(const Str& text);  ///< to stderr
/// From now on neither shows what it is given: the first rank says it.
void mute_output(bool is_muted);
/// From now on what both are given also goes to this file, shown or not, but for what redraws a line. "" ends it.
void copy_output_to(const Str& path);
/// To that file alone.
void print_copy(const Str& text);
/// Its descriptor, -1 without one: safe in a signal handler.
int copy_file();

/// Columns of the terminal that shows stdout or stderr; 80 where there is none.
size_t window_width();
/// The bar, plain lines, JSON events, what is said alone, or silence.
std::unique_ptr<Progress> make_progress(const Terminal& terminal);

/// A line of `--json`: an event that happened now, with its `members`.
Str json_event(const char* name, const Str& members);

/// Warnings that came up, each with its count, for the end report.
std::vector<std::pair<Str, int64_t>> warnings_so_far();
void note_warning(const Str& text);

// ---- numbers for people ----
/// `1 batch`, `1,024 batches`.
Str plural(int64_t count, const Str& one);
Str with_commas(int64_t value);  ///< 421,642
Str short_number(double value);  ///< three or four significant digits: 0.0412, 12.3, 1.5e-05
/// Values under their recorded names, `  val/loss 0.51  val/acc [0.9 0.8]`: those of the classes of a metric as one list,
/// of which at most 10 are shown.
Str scalars_text(Scalars values);
Str clock_text(double seconds);    ///< 0:08, 1:02:03
Str seconds_text(double seconds);  ///< 14.2 s
Str bytes_text(double bytes);      ///< 1.6 MiB
/// Of tensors on the device that the process computes on, else of this process.
double held_bytes();
/// The most that it ever was.
double most_held_bytes();

}  // namespace ltr::cli
