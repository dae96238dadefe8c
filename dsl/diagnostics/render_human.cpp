#include <algorithm>
#include <string>
#include <vector>

#include "dsl/diagnostics/render.h"

namespace ltr::diagnostics {

namespace {

using source::Position;
using source::Range;
using source::SourceId;
using source::SourceManager;

enum class Style { Error, Warning, Gutter, Primary, Secondary, Note, Bold };

/// A run of `^` or `-` under a line, with what it says.
struct Mark {
  uint32_t begin = 1;  ///< column
  uint32_t end = 1;
  bool is_primary = false;
  std::string text;
};
struct MarkedLine {
  uint32_t number = 0;
  std::vector<Mark> marks;
};

class Human {
 public:
  Human(const Diagnostic& diagnostic, const SourceManager& sources, HumanOptions options)
      : diagnostic_(diagnostic), sources_(sources), options_(options) {}

  std::string render() {
    header();
    const std::vector<SourceId> files = files_shown();
    for (const SourceId file : files) {
      for (const MarkedLine& line : lines_of(file)) {
        width_ = std::max(width_, std::to_string(line.number).size());
      }
    }
    for (const SourceId file : files) show_file(file);
    for (const std::string& note : diagnostic_.notes) trailer("note", note);
    for (const std::string& help : diagnostic_.helps) trailer("help", help);
    if (diagnostic_.helps.empty()) show_fix();
    return std::move(out_);
  }

 private:
  void header() {
    const bool is_error = diagnostic_.severity == Severity::Error;
    const Style style = is_error ? Style::Error : Style::Warning;
    paint(style, (is_error ? "error[" : "warning[") + std::string(to_text(diagnostic_.code)) + "]");
    paint(Style::Bold, ": " + diagnostic_.message);
    out_ += '\n';
  }

  /// The file of the primary span first.
  std::vector<SourceId> files_shown() const {
    std::vector<SourceId> files;
    const auto add = [&](Span span) {
      if (sources_.contains(span.source) && std::find(files.begin(), files.end(), span.source) == files.end()) {
        files.push_back(span.source);
      }
    };
    add(diagnostic_.span);
    for (const Label& label : diagnostic_.labels) add(label.span);
    return files;
  }

  Mark mark(Span span, bool is_primary, std::string text) const {
    const Range range = sources_.position(span);
    Mark mark{range.begin.column, range.end.column, is_primary, std::move(text)};
    if (range.end.line != range.begin.line) {
      // Of a span over several lines only the first is shown.
      const std::string_view line = sources_.line_text(span.source, range.begin.line);
      mark.end = source::count_characters(line) + 1;
    }
    mark.end = std::max(mark.end, mark.begin + 1);
    return mark;
  }

  std::vector<MarkedLine> lines_of(SourceId file) const {
    std::vector<MarkedLine> lines;
    const auto add = [&](uint32_t number, Mark mark) {
      auto at = std::lower_bound(lines.begin(), lines.end(), number,
                                 [](const MarkedLine& line, uint32_t n) { return line.number < n; });
      if (at == lines.end() || at->number != number) at = lines.insert(at, {number, {}});
      at->marks.push_back(std::move(mark));
    };
    const uint32_t primary_line = diagnostic_.span.source == file ? sources_.position(diagnostic_.span).begin.line : 0;
    bool is_labelled = false;
    bool has_left = false;
    bool has_right = false;
    for (const Label& label : diagnostic_.labels) {
      if (label.span.source != file) continue;
      const uint32_t line = sources_.position(label.span).begin.line;
      is_labelled |= label.span == diagnostic_.span;
      has_left |= line == primary_line && label.span.end <= diagnostic_.span.begin;
      has_right |= line == primary_line && label.span.begin >= diagnostic_.span.end;
    }
    // An operator between its labelled operands needs no mark of its own; they get the carets.
    const bool is_between = primary_line != 0 && has_left && has_right && !is_labelled;
    for (const Label& label : diagnostic_.labels) {
      if (label.span.source != file) continue;
      const uint32_t line = sources_.position(label.span).begin.line;
      add(line,
          mark(label.span, label.span == diagnostic_.span || (is_between && line == primary_line), label.message));
    }
    if (primary_line != 0 && !is_labelled && !is_between) add(primary_line, mark(diagnostic_.span, true, ""));
    for (MarkedLine& line : lines) {
      std::stable_sort(line.marks.begin(), line.marks.end(),
                       [](const Mark& a, const Mark& b) { return a.begin < b.begin; });
    }
    return lines;
  }

  void show_file(SourceId file) {
    const std::vector<MarkedLine> lines = lines_of(file);
    if (lines.empty()) return;
    Position place{lines.front().number, lines.front().marks.front().begin};
    if (diagnostic_.span.source == file) place = sources_.position(diagnostic_.span).begin;
    out_.append(width_, ' ');
    paint(Style::Gutter, "-->");
    out_ += fill(" {}:{}:{}\n", {sources_.path(file), place.line, place.column});
    gutter("");
    out_ += '\n';
    for (const MarkedLine& line : lines) {
      gutter(std::to_string(line.number));
      std::string_view whole = sources_.line_text(file, line.number);
      std::vector<Mark> marks = line.marks;
      cut_far_off(whole, marks);
      std::string text = expand(whole);
      show_columns(whole, marks);
      cut_around(text, marks);
      if (!text.empty()) out_ += ' ' + text;
      out_ += '\n';
      show_marks(marks);
    }
  }

  /// The marks of a line, in columns as they are shown.
  static void show_columns(std::string_view text, std::vector<Mark>& marks) {
    for (Mark& mark : marks) {
      mark.begin = shown_column(text, mark.begin);
      mark.end = std::max(shown_column(text, mark.end), mark.begin + 1);
    }
  }

  /// The mark that a line is shown around.
  static const Mark& main_mark(const std::vector<Mark>& marks) {
    const auto primary = std::find_if(marks.begin(), marks.end(), [](const Mark& mark) { return mark.is_primary; });
    return primary == marks.end() ? marks.front() : *primary;
  }

  /// Of a hostile line what lies nowhere near, before each of its characters is looked at: a line with thousands of mistakes is
  /// shown for each of them.
  static void cut_far_off(std::string_view& text, std::vector<Mark>& marks) {
    constexpr uint32_t kNear = 5 * kWidestLine;
    if (text.size() <= 4 * kNear || marks.empty()) return;
    const uint32_t around = main_mark(marks).begin, first = around > kNear ? around - kNear : 1;
    text.remove_prefix(source::offset_of(text, first));
    text = text.substr(0, source::offset_of(text, 2 * kNear + 1));
    for (Mark& mark : marks) {
      mark.begin = std::clamp(mark.begin, first, first + 2 * kNear) - first + 1;
      mark.end = std::clamp(mark.end, first, first + 2 * kNear) - first + 1;
    }
  }

  /// Of a line that nobody can read whole, what stands around the mark that matters most; a mark elsewhere is shown at the
  /// end that it lies behind.
  static void cut_around(std::string& text, std::vector<Mark>& marks) {
    const auto characters = uint32_t(source::count_characters(text));
    if (characters <= kWidestLine || marks.empty()) return;
    const uint32_t around = main_mark(marks).begin;
    const uint32_t before = around > kWidestLine / 3 ? around - kWidestLine / 3 : 1;
    const uint32_t first = std::min(before, characters - kWidestLine + 1), last = first + kWidestLine - 1;
    text = (first > 1 ? "\u2026" : "") + characters_of(text, first, last) + (last < characters ? "\u2026" : "");
    const uint32_t shift = first > 1 ? first - 2 : 0;
    const uint32_t lowest = first > 1 ? first - 1 : 1, highest = last < characters ? last + 1 : last;
    for (Mark& mark : marks) {
      mark.begin = std::clamp(mark.begin, lowest, highest) - shift;
      mark.end = std::max(std::clamp(mark.end, lowest, highest + 1) - shift, mark.begin + 1);
    }
  }

  /// The characters from number `first` to number `last`, from 1.
  static std::string characters_of(std::string_view text, uint32_t first, uint32_t last) {
    uint32_t number = 0;
    std::string out;
    for (const char c : text) {
      if ((static_cast<unsigned char>(c) & 0xc0U) != 0x80U) ++number;
      if (number >= first && number <= last) out += c;
    }
    return out;
  }

  /// Underlines; the text of the last stands beside it, those of the others below, from right to left.
  void show_marks(const std::vector<Mark>& marks) {
    gutter("");
    out_ += ' ';
    uint32_t column = 1;
    for (size_t i = 0; i < marks.size(); ++i) {
      const Mark& mark = marks[i];
      if (mark.begin < column && mark.end <= column) continue;  // Wholly under the one before.
      const uint32_t begin = std::max(mark.begin, column);
      out_.append(begin - column, ' ');
      paint(mark.is_primary ? Style::Primary : Style::Secondary,
            std::string(mark.end - begin, mark.is_primary ? '^' : '-'));
      column = mark.end;
    }
    size_t pending = marks.size();
    if (!marks.empty() && !marks.back().text.empty()) {
      out_ += ' ';
      paint(marks.back().is_primary ? Style::Primary : Style::Secondary, marks.back().text);
    }
    if (pending > 0) --pending;
    out_ += '\n';
    for (; pending > 0; --pending) {
      const Mark& mark = marks[pending - 1];
      if (mark.text.empty()) continue;
      gutter("");
      out_ += ' ';
      uint32_t at = 1;
      for (size_t i = 0; i + 1 < pending; ++i) {
        if (marks[i].text.empty() || marks[i].begin < at || marks[i].begin >= mark.begin) continue;
        out_.append(marks[i].begin - at, ' ');
        paint(marks[i].is_primary ? Style::Primary : Style::Secondary, "|");
        at = marks[i].begin + 1;
      }
      out_.append(mark.begin - at, ' ');
      paint(mark.is_primary ? Style::Primary : Style::Secondary, mark.text);
      out_ += '\n';
    }
  }

  void show_fix() {
    if (diagnostic_.fixes.size() != 1) return;
    const Fix& fix = diagnostic_.fixes.front();
    const std::string_view old = sources_.text(fix.span);
    if (fix.replacement.find('\n') != std::string::npos) return;
    if (old.empty()) {
      trailer("help", "insert `" + fix.replacement + "`");
    } else if (fix.replacement.empty()) {
      trailer("help", "remove `" + std::string(old) + "`");
    } else {
      trailer("help", "write `" + fix.replacement + "`");
    }
  }

  void trailer(std::string_view word, std::string_view text) {
    out_.append(width_ + 1, ' ');
    paint(Style::Gutter, "=");
    out_ += ' ';
    paint(Style::Note, std::string(word) + ":");
    out_ += ' ';
    for (const char c : text) {
      out_ += c;
      if (c == '\n') out_.append(width_ + 9, ' ');
    }
    out_ += '\n';
  }

  void gutter(const std::string& number) {
    std::string text = number;
    text.append(width_ + 1 - number.size(), ' ');
    paint(Style::Gutter, text + "|");
  }

  static constexpr uint32_t kTabWidth = 4;
  static constexpr uint32_t kWidestLine = 200;  ///< in characters; of a longer line a part of this length is shown

  /// Tabs as spaces, and `?` for what would move the cursor or turn the direction of the text, so that the marks stand below
  /// what they mean on every terminal.
  static std::string expand(std::string_view line) {
    std::string out;
    for (size_t i = 0; i < line.size(); ++i) {
      const char c = line[i];
      if (c == '\t') {
        out.append(kTabWidth, ' ');
      } else if (source::changes_direction(line.substr(i))) {
        out += '?';
        i += 2;
      } else {
        out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
      }
    }
    return out;
  }

  static uint32_t shown_column(std::string_view line, uint32_t column) {
    uint32_t shown = 1;
    uint32_t at = 1;
    for (const char c : line) {
      if ((static_cast<unsigned char>(c) & 0xc0U) == 0x80U) continue;
      if (at >= column) return shown;
      shown += c == '\t' ? kTabWidth : 1;
      ++at;
    }
    return shown + (column > at ? column - at : 0);
  }

  void paint(Style style, std::string_view text) {
    if (!options_.color) {
      out_ += text;
      return;
    }
    switch (style) {
      case Style::Error: out_ += "\x1b[1;31m"; break;
      case Style::Warning: out_ += "\x1b[1;33m"; break;
      case Style::Gutter: out_ += "\x1b[1;34m"; break;
      case Style::Primary: out_ += diagnostic_.severity == Severity::Error ? "\x1b[1;31m" : "\x1b[1;33m"; break;
      case Style::Secondary: out_ += "\x1b[34m"; break;
      case Style::Note: out_ += "\x1b[1;36m"; break;
      case Style::Bold: out_ += "\x1b[1m"; break;
    }
    out_ += text;
    out_ += "\x1b[0m";
  }

  const Diagnostic& diagnostic_;
  const SourceManager& sources_;
  HumanOptions options_;
  size_t width_ = 1;
  std::string out_;
};

}  // namespace

std::string render_human(const Diagnostic& diagnostic, const SourceManager& sources, HumanOptions options) {
  return Human(diagnostic, sources, options).render();
}

}  // namespace ltr::diagnostics
