#include <fmt/core.h>

#include "doors/html.h"
#include "ltrc/doc_entry.h"

namespace ltr::driver {

namespace {

constexpr const char* kStyle =
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    "color:#222;background:#fff}pre{background:#f5f5f2;padding:.7rem;overflow-x:auto;"
    "font-size:.85rem}h2{border-bottom:1px solid #ddd;margin-top:2.5rem}h3{margin-bottom:.3rem}"
    "small{color:#777;font-weight:normal}a{color:#0645ad;text-decoration:none}"
    "input{font:inherit;padding:.3rem .6rem;width:100%;box-sizing:border-box}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#1b1b1b}pre{background:#262626}"
    "a{color:#8ab4f8}}";

/// Hides the rows that do not hold what was typed, and the headings that are left without rows.
constexpr const char* kSearch =
    "const box=document.getElementById('search');box.oninput=()=>{const q=box.value.toLowerCase();"
    "for(const section of document.querySelectorAll('section')){let any=false;"
    "for(const row of section.querySelectorAll('li')){"
    "row.hidden=!row.textContent.toLowerCase().includes(q);any=any||!row.hidden}"
    "section.hidden=!any}};";

/// `code` in backticks; the rest as it stands.
std::string inline_text(std::string_view text) {
  std::string out;
  bool is_code = false;
  for (const char c : doors::escape_html(text)) {
    if (c != '`') {
      out += c;
      continue;
    }
    out += is_code ? "</code>" : "<code>";
    is_code = !is_code;
  }
  return is_code ? out + "</code>" : out;
}

std::string prose(const std::string& doc) {
  std::string out;
  bool in_table = false;
  for (size_t begin = 0; begin < doc.size();) {
    const size_t end = std::min(doc.find('\n', begin), doc.size());
    const std::string_view line = std::string_view(doc).substr(begin, end - begin);
    const bool is_table = line.starts_with("  ");
    if (out.empty() || is_table != in_table) {
      out += out.empty() ? "" : in_table ? "</pre>\n" : "</p>\n";
      out += is_table ? "<pre>" : "<p>";
    }
    in_table = is_table;
    out += is_table ? doors::escape_html(line.substr(2)) : inline_text(line);
    out += '\n';
    begin = end + 1;
  }
  return out.empty() ? out : out + (in_table ? "</pre>\n" : "</p>\n");
}

std::string first_sentence(const std::string& doc) {
  const std::string line = doc.substr(0, doc.find('\n'));
  const size_t stop = line.find(". ");
  return stop == std::string::npos ? line : line.substr(0, stop + 1);
}

std::string file_of(const DocModule& module) {
  std::string name = module.title;
  for (char& c : name) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
    c = is_plain ? c : '.';
  }
  return name + ".html";
}

std::string page(const std::string& title, const std::string& body, const std::string& script) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n{}{}</body>\n</html>\n",
      doors::escape_html(title), kStyle, body, script.empty() ? "" : "<script>" + script + "</script>\n");
}

std::string module_page(const DocModule& module, const std::string& title) {
  std::string body = fmt::format("<p><a href=\"index.html\">{}</a></p>\n<h1>{}</h1>\n", doors::escape_html(title),
                                 doors::escape_html(module.title));
  for (const DocEntry& entry : module.entries) {
    body +=
        fmt::format("<h2 id=\"{0}\">{0} <small>{1}</small></h2>\n<pre>{2}</pre>\n{3}", doors::escape_html(entry.name),
                    doors::escape_html(entry.kind), doors::escape_html(entry.signature), prose(entry.doc));
    if (entry.parts.empty()) continue;
    body += "<pre>";
    for (const std::string& part : entry.parts) body += doors::escape_html(part) + "\n";
    body += "</pre>\n";
  }
  return page(module.title + " · " + title, body, "");
}

}  // namespace

std::vector<std::pair<std::string, std::string>> html_pages(const std::vector<DocModule>& modules,
                                                            const std::string& title) {
  std::vector<std::pair<std::string, std::string>> pages;
  std::string body =
      fmt::format("<h1>{}</h1>\n<input id=\"search\" type=\"search\" placeholder=\"search\" autofocus>\n",
                  doors::escape_html(title));
  for (const DocModule& module : modules) {
    if (module.entries.empty()) continue;
    body += fmt::format("<section>\n<h3><a href=\"{}\">{}</a></h3>\n<ul>\n", file_of(module),
                        doors::escape_html(module.title));
    for (const DocEntry& entry : module.entries) {
      body += fmt::format("<li><a href=\"{0}#{1}\">{1}</a> {2}</li>\n", file_of(module), doors::escape_html(entry.name),
                          inline_text(first_sentence(entry.doc)));
    }
    body += "</ul>\n</section>\n";
    pages.emplace_back(file_of(module), module_page(module, title));
  }
  pages.emplace(pages.begin(), "index.html", page(title, body, kSearch));
  return pages;
}

}  // namespace ltr::driver
