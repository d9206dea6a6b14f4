/* Makes a server slower by a known share of the time that its client sees. Preloaded into a server with a thread per connection.

   Each time a request arrives, it burns CPU for PRONY_SHARE of the time since the last burning ended. That is a whole cycle: statement,
   reply, client and next request. So the time of a connection is multiplied by 1 + PRONY_SHARE, whatever a cycle consists of, as long as
   no other connection waits for this one. A cycle of more than 0.1 s, such as one with a pause of the server, is left out. The file
   PRONY_ACCOUNT sums up the nanoseconds of all cycles, and those burned, over all processes of the build. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { LONGEST_NS = 100000000 };
typedef struct {
  _Atomic uint64_t cycles, burned;
} Account;
static Account *account;
static double share;
static ssize_t (*original)(int, void *, size_t, int);

static uint64_t now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec * 1000000000ull + at.tv_nsec;
}

__attribute__((constructor)) static void start(void) {
  original = (ssize_t (*)(int, void *, size_t, int))dlsym(RTLD_NEXT, "recv");
  share = atof(getenv("PRONY_SHARE"));
  int file = open(getenv("PRONY_ACCOUNT"), O_RDWR | O_CREAT, 0600);
  if (!original || file < 0 || ftruncate(file, sizeof *account)) abort();
  account = mmap(0, sizeof *account, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (account == MAP_FAILED) abort();
  close(file);
}

ssize_t recv(int socket, void *buffer, size_t length, int flags) {
  static __thread uint64_t ended;
  ssize_t received = original(socket, buffer, length, flags);
  if (received <= 0) return received;
  uint64_t begun = now(), cycle = begun - ended;
  int counts = ended && cycle < LONGEST_NS;
  uint64_t until = begun + (counts ? cycle * share : 0);
  while ((ended = now()) < until);
  if (counts) {
    account->cycles += cycle;
    account->burned += ended - begun;
  }
  return received;
}
