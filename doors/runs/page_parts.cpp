#include "doors/runs/page_parts.h"

#include "doors/html.h"
#include "doors/runs/page.h"

namespace ltr::doors {

std::string framed(const std::string& title, const std::string& body) {
  std::string out = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  out += "<meta name=\"viewport\" content=\"width=device-width\">\n<title>" + escape_html(title) + "</title>\n<style>";
  out += page_style;
  return out + "</style>\n</head>\n<body>\n" + body + "</body>\n</html>\n";
}

std::string script(std::string_view text) { return "<script>" + std::string(text) + "</script>\n"; }

std::string cell(const std::string& text, bool is_number) {
  return std::string(is_number ? "<td class=\"number\">" : "<td>") + escape_html(text) + "</td>";
}

}  // namespace ltr::doors
