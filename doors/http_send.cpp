#include "doors/http_send.h"

#include <curl/curl.h>
#include <dlfcn.h>

#include <cctype>
#include <random>

namespace ltr::doors {

namespace {

/// libcurl, loaded when the first message leaves: programs that send none need none, and start without it.
struct Curl {
  decltype(&curl_easy_init) init = nullptr;
  decltype(&curl_easy_setopt) set = nullptr;
  decltype(&curl_easy_perform) perform = nullptr;
  decltype(&curl_easy_getinfo) info = nullptr;
  decltype(&curl_easy_strerror) text = nullptr;
  decltype(&curl_easy_cleanup) cleanup = nullptr;
  decltype(&curl_slist_append) append = nullptr;
  decltype(&curl_slist_free_all) free_list = nullptr;

  Curl() {
    void* library = ::dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
      return function != nullptr;
    };
    is_there = find(init, "curl_easy_init") && find(set, "curl_easy_setopt") && find(perform, "curl_easy_perform") &&
               find(info, "curl_easy_getinfo") && find(text, "curl_easy_strerror") &&
               find(cleanup, "curl_easy_cleanup") && find(append, "curl_slist_append") &&
               find(free_list, "curl_slist_free_all");
  }
  bool is_there = false;
};

const Curl& curl() {
  static const Curl loaded;
  return loaded;
}

/// Of an answer no more is kept than anybody asks for.
constexpr size_t kMostBytes = 65536;

size_t take_bytes(char* data, size_t size, size_t count, void* user) {
  auto& body = *static_cast<std::string*>(user);
  body.append(data, std::min(size * count, kMostBytes - std::min(body.size(), kMostBytes)));
  return size * count;
}

int look(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::atomic<bool>*>(user)->load() ? 1 : 0;
}

}  // namespace

HttpAnswer send_http(const HttpMessage& message, double limit_s, const std::atomic<bool>& is_called_off) {
  HttpAnswer answer;
  const Curl& lib = curl();
  CURL* handle = lib.is_there ? lib.init() : nullptr;
  if (handle == nullptr) {
    answer.problem = lib.is_there ? "libcurl cannot begin" : "libcurl.so.4 is not there";
    return answer;
  }
  // Nobody waits for a server to ask for the body.
  curl_slist* headers = lib.append(nullptr, "Expect:");
  headers = lib.append(headers, ("Content-Type: " + message.type).c_str());
  if (!message.authorization.empty()) {
    headers = lib.append(headers, ("Authorization: " + message.authorization).c_str());
  } else if (!message.token.empty()) {
    headers = lib.append(headers, ("Authorization: Bearer " + message.token).c_str());
  } else if (!message.user.empty()) {
    lib.set(handle, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
    lib.set(handle, CURLOPT_USERNAME, message.user.c_str());
    lib.set(handle, CURLOPT_PASSWORD, message.password.c_str());
  }
  lib.set(handle, CURLOPT_URL, message.url.c_str());
  lib.set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  if (message.method != "GET") {
    lib.set(handle, CURLOPT_CUSTOMREQUEST, message.method.c_str());
    lib.set(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(message.body.size()));
    lib.set(handle, CURLOPT_POSTFIELDS, message.body.empty() ? "" : message.body.data());
  }
  lib.set(handle, CURLOPT_HTTPHEADER, headers);
  lib.set(handle, CURLOPT_TIMEOUT_MS, long(limit_s * 1000));
  lib.set(handle, CURLOPT_NOSIGNAL, 1L);  // the process has signals of its own
  lib.set(handle, CURLOPT_WRITEFUNCTION, &take_bytes);
  lib.set(handle, CURLOPT_WRITEDATA, &answer.body);
  lib.set(handle, CURLOPT_NOPROGRESS, 0L);
  lib.set(handle, CURLOPT_XFERINFOFUNCTION, &look);
  lib.set(handle, CURLOPT_XFERINFODATA, &is_called_off);
  const CURLcode code = lib.perform(handle);
  if (code == CURLE_OK) {
    lib.info(handle, CURLINFO_RESPONSE_CODE, &answer.status);
  } else {
    answer.problem = lib.text(code);
  }
  lib.free_list(headers);
  lib.cleanup(handle);
  return answer;
}

std::string percent_encoded(std::string_view text, std::string_view also) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 128 && std::isalnum(byte) != 0) || std::string_view("-._~").find(c) != std::string_view::npos ||
        also.find(c) != std::string_view::npos) {
      out += c;
    } else {
      (out += '%').append({kDigits[byte >> 4], kDigits[byte & 15]});
    }
  }
  return out;
}

std::string new_key() {
  std::random_device source;
  std::string key;
  for (int i = 0; i < 32; ++i) key += "0123456789abcdef"[source() % 16];
  return key;
}

}  // namespace ltr::doors
