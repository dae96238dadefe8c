#include "dsl/format/format.h"

#include <algorithm>

#include "dsl/ast/dump.h"
#include "dsl/diagnostics/sink.h"
#include "dsl/format/piece.h"
#include "dsl/lex/lex.h"

namespace ltr::format {

namespace {

using K = lex::TokenKind;

constexpr uint32_t kIndent = 2;

/// An open bracket, or the file.
struct Frame {
  bool is_body = true;
  uint32_t content = 0;  ///< column of its lines
  uint32_t close = 0;    ///< column of its closer, where that begins a line
  uint32_t entry = 0;    ///< column of the entry in hand
  // Of the entry in hand:
  bool has_value_line = false;  ///< its value begins on a line of its own, under which others stand
  uint32_t if_column = 0;       ///< of its first `if … then`, under which `else` stands; 0: none
};

struct Line {
  std::string code;
  std::string_view comment;    ///< at its end
  uint32_t source_column = 0;  ///< of the comment
  uint32_t wanted_column = 0;  ///< of the comment, if the code leaves room
  bool is_blank_before = false;
};

class Print {
 public:
  Print(std::vector<Piece> pieces, std::string_view text) : pieces_(std::move(pieces)), text_(text) {}

  std::string run() {
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const Piece& piece = pieces_[i];
      if (piece.breaks) {
        begin_line(i);
      } else if (!piece.is_comment) {
        write(std::string(piece.pad + (needs_space(pieces_[i - 1], piece) ? 1 : 0), ' '));
      }
      if (piece.is_comment && !piece.breaks) {
        end_comment(piece);
        continue;
      }
      if (piece.kind == K::If && frames_.back().if_column == 0 && !begins_entry(pieces_, i))
        frames_.back().if_column = column_;
      write(piece.text);
      if (piece.is_opener()) push_frame(i);
      if (piece.is_closer() && frames_.size() > 1) frames_.pop_back();
    }
    return join();
  }

 private:
  void write(std::string_view text) {
    lines_.back().code += text;
    column_ = width(text) + (text.find('\n') == std::string_view::npos ? column_ : 0);
  }

  void begin_line(size_t at) {
    const Piece& piece = pieces_[at];
    Line line;
    const bool follows_opener = at > 0 && pieces_[at - 1].is_opener();
    line.is_blank_before = at > 0 && piece.newlines > 1 && !follows_opener && !piece.is_closer();
    indent_ = indent_of(at);
    source_indent_ = source_column(piece);
    is_shifted_ = piece.newlines == 0 && at > 0;
    lines_.push_back(std::move(line));
    column_ = 0;
    write(std::string(indent_, ' '));
  }

  /// The column of the line that begins with piece `at`. A comment has that of what follows it.
  uint32_t indent_of(size_t at) {
    Frame& frame = frames_.back();
    const bool is_comment = pieces_[at].is_comment;
    while (at < pieces_.size() && pieces_[at].is_comment) ++at;
    if (at == pieces_.size()) return frame.content;
    const Piece& piece = pieces_[at];
    if (piece.is_closer()) return is_comment ? frame.content : frame.close;
    if (!frame.is_body) return frame.content;
    if (begins_entry(pieces_, at)) {
      frame.has_value_line = false;
      frame.if_column = 0;
      return frame.entry = frame.content;
    }
    // Deeper than the body that may follow, so that the signature stands out.
    if (piece.kind == K::Arrow || piece.kind == K::Where) return frame.entry + 2 * kIndent;
    if (piece.kind == K::Else && frame.if_column != 0) return frame.if_column;
    if (frame.has_value_line) return frame.entry + 2 * kIndent;
    frame.has_value_line = at > 0 && pieces_[at - 1].kind == K::Assign;
    return frame.entry + kIndent;
  }

  void push_frame(size_t at) {
    const bool breaks_inside = at + 1 < pieces_.size() && pieces_[at + 1].breaks;
    const Frame& around = frames_.back();
    Frame frame;
    frame.is_body = pieces_[at].is_body;
    if (frame.is_body || breaks_inside || is_comment_behind(at)) {
      frame.close = frame.is_body && around.is_body ? around.entry : indent_;
      frame.content = frame.close + kIndent;
    } else {
      frame.close = frame.content = column_;
    }
    frame.entry = frame.content;
    frames_.push_back(frame);
  }
  bool is_comment_behind(size_t at) const { return at + 1 < pieces_.size() && pieces_[at + 1].is_comment; }

  void end_comment(const Piece& piece) {
    Line& line = lines_.back();
    line.comment = piece.text;
    line.source_column = source_column(piece);
    // It moves with its line.
    if (!is_shifted_ && line.source_column + indent_ > source_indent_)
      line.wanted_column = line.source_column + indent_ - source_indent_;
  }

  uint32_t source_column(const Piece& piece) const { return width(text_.substr(0, piece.begin)); }

  std::string join() {
    for (size_t first = 0; first < lines_.size();) {
      size_t last = first + 1;
      if (!lines_[first].comment.empty()) {
        while (last < lines_.size() && !lines_[last].comment.empty() && !lines_[last].is_blank_before &&
               lines_[last].source_column == lines_[first].source_column)
          ++last;
        uint32_t column = 0;
        for (size_t i = first; i < last; ++i)
          column = std::max({column, lines_[i].wanted_column, width(lines_[i].code) + 2});
        for (size_t i = first; i < last; ++i) {
          lines_[i].code.append(column - width(lines_[i].code), ' ');
          lines_[i].code += lines_[i].comment;
        }
      }
      first = last;
    }
    std::string out;
    for (const Line& line : lines_) {
      if (line.is_blank_before) out += '\n';
      for (const char c : line.code) {
        if (c != '\r') out += c;
      }
      out += '\n';
    }
    return out;
  }

  std::vector<Piece> pieces_;
  std::string_view text_;
  std::vector<Frame> frames_ = {Frame{}};
  std::vector<Line> lines_;
  uint32_t column_ = 0;         ///< behind what the line in hand has
  uint32_t indent_ = 0;         ///< of the line in hand
  uint32_t source_indent_ = 0;  ///< where its first piece stood
  bool is_shifted_ = false;     ///< it began in the middle of a line
};

}  // namespace

std::string format(const ast::Module& module, std::string_view text) {
  diagnostics::Sink silent;  // The parser has reported what there was.
  const lex::TokenBuffer tokens = lex::lex(module.source, text, silent);
  std::vector<Piece> pieces = lay_out(tokens, text, find_roles(module));
  align_entries(pieces, text);
  return Print(std::move(pieces), text).run();
}

bool is_same_tree(const ast::Module& left, const ast::Module& right) {
  return ast::dump_ast(left) == ast::dump_ast(right);
}

}  // namespace ltr::format
