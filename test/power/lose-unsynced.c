/* A library to be preloaded into the broker. It notes how much of each file has been synced, so that a test can take
 * away the rest, as a power cut would.
 *
 * Lines of $UNSYNCED_LOG, each written after the call has succeeded:
 *   S <bytes> <path>          fsync or fdatasync: so long was the file then
 *   R <old path>\t<new path>  rename
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void note(const char *line, size_t length) {
  const char *path = getenv("UNSYNCED_LOG");
  int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
  if (fd < 0) return;
  if (write(fd, line, length) < 0) abort();
  close(fd);
}

static void note_synced(int fd) {
  char link[64], path[PATH_MAX], line[PATH_MAX + 64];
  struct stat status;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return;
  path[length] = 0;
  note(line, (size_t)snprintf(line, sizeof line, "S %lld %s\n", (long long)status.st_size, path));
}

int fsync(int fd) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  int result = real(fd);
  if (result == 0) note_synced(fd);
  return result;
}

int fdatasync(int fd) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  int result = real(fd);
  if (result == 0) note_synced(fd);
  return result;
}

int rename(const char *from, const char *to) {
  int (*real)(const char *, const char *) = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
  char old_path[PATH_MAX], new_path[PATH_MAX], line[2 * PATH_MAX + 8];
  char *known = realpath(from, old_path);
  int result = real(from, to);
  if (result == 0 && known && realpath(to, new_path))
    note(line, (size_t)snprintf(line, sizeof line, "R %s\t%s\n", old_path, new_path));
  return result;
}
