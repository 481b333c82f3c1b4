/* Load for an MQTT broker on this machine: many subscribers in one process, or one publisher.
 *
 *     load subscribe PORT QOS MESSAGES CLIENTS    says "subscribed", then what came in how many seconds
 *     load publish PORT QOS MESSAGES SIZE         says "connected", begins when a line comes
 */

#include <mosquitto.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CLIENTS_MAX = 64, WINDOW = 32, TURN_MS = 1000, SILENT_TURNS_MAX = 5, KEEPALIVE_S = 60 };

static const char *const HOST = "127.0.0.1";
static const char *const TOPIC = "bench";

static long connected, subscribed, published, received;
static double began_s, ended_s;

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void check(int code, const char *what) {
  if (code == MOSQ_ERR_SUCCESS) return;
  fprintf(stderr, "%s: %s\n", what, mosquitto_strerror(code));
  exit(EXIT_FAILURE);
}

static void say(const char *what) {
  puts(what);
  fflush(stdout);
}

static void on_connect(struct mosquitto *client, void *data, int code) {
  (void)client, (void)data;
  check(code, "connect");
  connected++;
}

static void on_subscribe(struct mosquitto *client, void *data, int id, int count, const int *qos) {
  (void)client, (void)data, (void)id, (void)count, (void)qos;
  subscribed++;
}

static void on_publish(struct mosquitto *client, void *data, int id) {
  (void)client, (void)data, (void)id;
  published++;
}

static void on_message(struct mosquitto *client, void *data, const struct mosquitto_message *message) {
  (void)client, (void)data, (void)message;
  ended_s = now_s();
  if (received++ == 0) began_s = ended_s;
}

/* Wait until something can be read or written, and do it; whether there was anything. */
static bool turn(struct mosquitto **clients, int count) {
  struct pollfd sockets[CLIENTS_MAX];
  for (int i = 0; i < count; i++) {
    sockets[i].fd = mosquitto_socket(clients[i]);
    sockets[i].events = mosquitto_want_write(clients[i]) ? POLLIN | POLLOUT : POLLIN;
  }
  int ready = poll(sockets, (nfds_t)count, TURN_MS);
  for (int i = 0; i < count && ready > 0; i++) {
    if (sockets[i].revents & (POLLIN | POLLHUP | POLLERR)) check(mosquitto_loop_read(clients[i], 1), "read");
    if (sockets[i].revents & POLLOUT) check(mosquitto_loop_write(clients[i], 1), "write");
  }
  return ready > 0;
}

static void dial(struct mosquitto **clients, int count, int port) {
  for (int i = 0; i < count; i++) {
    clients[i] = mosquitto_new(NULL, true, NULL);
    if (clients[i] == NULL) exit(EXIT_FAILURE);
    mosquitto_connect_callback_set(clients[i], on_connect);
    mosquitto_subscribe_callback_set(clients[i], on_subscribe);
    mosquitto_publish_callback_set(clients[i], on_publish);
    mosquitto_message_callback_set(clients[i], on_message);
    check(mosquitto_int_option(clients[i], MOSQ_OPT_TCP_NODELAY, 1), "no delay"); /* much faster */
    check(mosquitto_connect(clients[i], HOST, port, KEEPALIVE_S), "dial");
  }
  while (connected < count) turn(clients, count);
}

static void subscribe(int port, int qos, long messages, int count) {
  struct mosquitto *clients[CLIENTS_MAX];
  dial(clients, count, port);
  for (int i = 0; i < count; i++) check(mosquitto_subscribe(clients[i], NULL, TOPIC, qos), "subscribe");
  while (subscribed < count) turn(clients, count);
  say("subscribed");
  for (int silent = 0; received < messages * count && silent < SILENT_TURNS_MAX;) {
    if (turn(clients, count)) silent = 0;
    else if (received > 0) silent++;
  }
  printf("%ld %.9f\n", received, ended_s - began_s);
}

static void publish(int port, int qos, long messages, int size) {
  struct mosquitto *client;
  char *body = calloc(1, (size_t)size);
  dial(&client, 1, port);
  say("connected");
  if (body == NULL || getchar() == EOF) exit(EXIT_FAILURE);
  for (long sent = 0; published < messages;) {
    for (; sent < messages && sent - published < WINDOW; sent++)
      check(mosquitto_publish(client, NULL, TOPIC, size, body, qos, false), "publish");
    if (published < messages) turn(&client, 1);
  }
  getchar(); /* stay until nobody waits for anything any more */
}

int main(int count, char **words) {
  if (count != 6) return EXIT_FAILURE;
  int port = atoi(words[2]), qos = atoi(words[3]), last = atoi(words[5]);
  long messages = atol(words[4]);
  mosquitto_lib_init();
  if (strcmp(words[1], "publish") == 0) publish(port, qos, messages, last);
  else if (last <= CLIENTS_MAX) subscribe(port, qos, messages, last);
  return EXIT_SUCCESS;
}
