// The live page: three files of our own and nothing from elsewhere.
#include "ackline/api/assets.h"
#include "ackline/api/handlers.h"

namespace ackline::api {
namespace {

// As text of an HTML document.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      default:
        out.push_back(c);
    }
  }
  return out;
}

void answer_file(Call& call, std::string_view type, std::string_view text) {
  http::Response response;
  response.headers = http::Headers{
      {"content-type", type},
      {"cache-control", "no-cache"},
      {"x-content-type-options", "nosniff"},
      {"referrer-policy", "no-referrer"},
      {"content-security-policy",
       "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
       "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"}};
  response.body = std::string(text);
  call.responder.respond(std::move(response));
}

}  // namespace

void page_html(const Api& api, Call& call) {
  constexpr std::string_view kPlace = "VERSION";
  std::string page(assets::ui_index_html());
  std::string version = api.options.version;
  if (!api.options.build.empty()) {
    version += " (" + api.options.build + ")";
  }
  if (const std::size_t at = page.find(kPlace); at != std::string::npos) {
    page.replace(at, kPlace.size(), escaped(version));
  }
  answer_file(call, "text/html; charset=utf-8", page);
}
void page_css(const Api& /*api*/, Call& call) {
  answer_file(call, "text/css; charset=utf-8", assets::ui_live_css());
}
void page_js(const Api& /*api*/, Call& call) {
  answer_file(call, "text/javascript; charset=utf-8", assets::ui_live_js());
}

}  // namespace ackline::api
