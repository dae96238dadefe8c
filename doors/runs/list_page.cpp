#include "doors/html.h"
#include "doors/http_server.h"
#include "doors/runs/comparison.h"
#include "doors/runs/page.h"
#include "doors/runs/page_parts.h"

namespace ltr::doors {

std::string message_page(const std::string& title, const std::string& text) {
  return framed(title,
                std::string(kWayBack) + "<h1>" + escape_html(title) + "</h1>\n<p>" + escape_html(text) + "</p>\n");
}

std::string list_rows(const RunList& list) {
  std::string out;
  for (const ListedRun* run : list.runs()) {
    const std::string id = escape_html(run->id);
    const auto number = [](std::optional<double> value) {
      return value ? "<td class=\"number\">" + escape_html(rounded(*value)) + "</td>" : std::string("<td></td>");
    };
    out += "<tr><td><input type=\"checkbox\" name=\"run\" value=\"" + id + "\" aria-label=\"choose " + id + "\"></td>";
    out += "<td><a href=\"/runs/" + escape_path(run->id) + "\">" + id + "</a></td>" + cell(run->experiment);
    out += "<td><span class=\"state " + escape_html(run->status) + "\">" + escape_html(run->status) + "</span></td>";
    if (!run->damage.empty()) {
      out += "<td colspan=\"7\">" + escape_html(run->damage) + "</td></tr>\n";
      continue;
    }
    out += cell(std::to_string(run->epoch), true) + cell(std::to_string(run->step), true) + cell(run->metric) +
           number(run->best) + number(run->last) + cell(run->started) +
           cell(duration_text(run->end - run->begin), true) + "</tr>\n";
  }
  return out;
}

std::string list_page(const RunList& list) {
  const std::string folder = list.folder().string();
  std::string body = "<h1>Runs</h1>\n<p class=\"soft\">" + escape_html(folder) + " <span id=\"note\"></span></p>\n";
  body +=
      "<form action=\"/compare\"><table><thead><tr><th></th><th>run<th>experiment<th>state<th class=\"number\">epoch"
      "<th class=\"number\">step<th>value<th class=\"number\">best<th class=\"number\">last<th>started"
      "<th class=\"number\">time</tr></thead>\n<tbody id=\"rows\" data-version=\"" +
      std::to_string(list.version()) + "\">" + list_rows(list) +
      "</tbody></table>\n<p><button>compare the chosen</button></p></form>\n";
  return framed("Runs of " + folder, body + script(list_script));
}

}  // namespace ltr::doors
