// `ltr_fetch URL FILE BYTES`: brings URL to FILE, behind what is there of it, BYTES at most. What went wrong is said on standard
// output, how far it is on a terminal.

#include <curl/curl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

namespace {

/// A download, and what of it is there.
struct Download {
  CURL* curl = nullptr;
  std::string path;
  FILE* file = nullptr;
  uint64_t limit = 0;
  uint64_t begin = 0;  ///< bytes that were there
  uint64_t done = 0;
  std::string tag;  ///< names the version of what the server has
  bool is_begun = false;
  bool is_too_long = false;

  std::string tag_path() const { return path + ".tag"; }
};

/// The version of what comes, by which a later part is asked for.
size_t take_header(char* data, size_t size, size_t count, void* user) {
  auto& download = *static_cast<Download*>(user);
  const std::string line(data, size * count);
  std::string name;
  for (const char c : line.substr(0, line.find(':'))) name += char(std::tolower(static_cast<unsigned char>(c)));
  if (line.starts_with("HTTP/")) download.tag.clear();  // of an answer that only named another place
  if (name == "etag" || (name == "last-modified" && download.tag.empty())) {
    const size_t first = line.find_first_not_of(" \t", name.size() + 1), last = line.find_last_not_of(" \t\r\n");
    // A weak tag says nothing of bytes.
    if (first <= last && first != std::string::npos && line.compare(first, 2, "W/") != 0)
      download.tag = line.substr(first, last - first + 1);
  }
  return size * count;
}

size_t take_bytes(char* data, size_t size, size_t count, void* user) {
  auto& download = *static_cast<Download*>(user);
  const size_t bytes = size * count;
  if (!download.is_begun) {
    download.is_begun = true;
    long status = 0;
    curl_easy_getinfo(download.curl, CURLINFO_RESPONSE_CODE, &status);
    // The server begins again: it has another version, or cannot go on.
    if (status != 206) {
      download.done = download.begin = 0;
      if (std::fseek(download.file, 0, SEEK_SET) != 0 || ftruncate(fileno(download.file), 0) != 0) return 0;
    }
    std::ofstream(download.tag_path(), std::ios::trunc) << download.tag;
  }
  download.is_too_long = download.done + bytes > download.limit;
  if (download.is_too_long) return 0;
  const size_t written = std::fwrite(data, 1, bytes, download.file);
  download.done += written;
  return written;
}

int show(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const auto& download = *static_cast<Download*>(user);
  static uint64_t shown = UINT64_MAX;
  const uint64_t percent = download.limit == 0 ? 100 : download.done * 100 / download.limit;
  if (isatty(STDERR_FILENO) == 0 || percent == shown) return 0;
  shown = percent;
  std::fprintf(stderr, "\r%3d %% of %.1f MB\033[K", int(percent), double(download.limit) / 1e6);
  return 0;
}

int refuse(const std::string& reason) {
  std::printf("%s", reason.c_str());
  return 1;
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) return refuse("usage: ltr_fetch URL FILE BYTES");
  Download download;
  download.path = words[2];
  download.limit = std::strtoull(words[3], nullptr, 10);
  struct stat there{};
  if (stat(words[2], &there) == 0) download.begin = download.done = uint64_t(there.st_size);
  // As much as there can be, or more: it begins anew.
  if (download.begin >= download.limit) download.begin = download.done = 0;
  download.file = std::fopen(words[2], download.begin > 0 ? "r+b" : "wb");
  if (download.file == nullptr) return refuse("cannot write " + download.path);
  std::fseek(download.file, 0, SEEK_END);

  curl_global_init(CURL_GLOBAL_DEFAULT);
  CURL* curl = download.curl = curl_easy_init();
  char reason[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(curl, CURLOPT_URL, words[1]);
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 10L);
  curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 20L);
  // A minute of less than a byte each second is no connection any more.
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, 60L);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &download);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_bytes);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &download);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, show);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &download);
  curl_slist* headers = nullptr;
  if (download.begin > 0) {
    std::string tag;
    std::getline(std::ifstream(download.tag_path()), tag);
    if (!tag.empty()) headers = curl_slist_append(headers, ("If-Range: " + tag).c_str());
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_RANGE, (std::to_string(download.begin) + "-").c_str());
  }
  const CURLcode result = curl_easy_perform(curl);
  curl_slist_free_all(headers);
  if (isatty(STDERR_FILENO) != 0) std::fprintf(stderr, "\r\033[K");
  const bool is_written = std::fclose(download.file) == 0;
  if (download.is_too_long) return refuse("it is longer than " + std::to_string(download.limit) + " bytes");
  if (result != CURLE_OK) return refuse(reason[0] != '\0' ? reason : curl_easy_strerror(result));
  if (!is_written) return refuse("cannot write " + download.path);
  if (download.done < download.limit)
    return refuse("it ended after " + std::to_string(download.done) + " of " + std::to_string(download.limit) +
                  " bytes");
  std::remove(download.tag_path().c_str());
  return 0;
}
