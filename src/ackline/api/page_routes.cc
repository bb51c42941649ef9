// The live page: three files of our own and nothing from elsewhere.
#include "ackline/api/assets.h"
#include "ackline/api/handlers.h"

namespace ackline::api {
namespace {

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

void page_html(const Api& /*api*/, Call call) {
  answer_file(call, "text/html; charset=utf-8", assets::ui_index_html());
}
void page_css(const Api& /*api*/, Call call) {
  answer_file(call, "text/css; charset=utf-8", assets::ui_live_css());
}
void page_js(const Api& /*api*/, Call call) {
  answer_file(call, "text/javascript; charset=utf-8", assets::ui_live_js());
}

}  // namespace ackline::api
