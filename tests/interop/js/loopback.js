"use strict";

// The public implementation binds and advertises every interface; the tests must not leave this machine.
// Loaded before it, this module shows it a machine that has nothing but a loopback interface.

const dgram = require("dgram");
const os = require("os");

const LOOPBACK = "127.0.0.1";
const DISCOVERY_GROUP = "239.42.42.42";
const DISCOVERY_PORT = 42420;

os.networkInterfaces = () => ({ lo: [{ address: LOOPBACK, family: "IPv4", internal: true }] });

// Standard output carries our own lines only; the libraries chat on the console.
console.log = console.info = console.trace = console.error;

const createSocket = dgram.createSocket;

dgram.createSocket = (options, onMessage) => {
  const socket = createSocket(options, onMessage);
  const { bind, addMembership } = socket;
  socket.bind = (port, address, onListening) => {
    if (address !== "0.0.0.0") return bind.call(socket, port, address, onListening);
    const inside = port === DISCOVERY_PORT ? DISCOVERY_GROUP : LOOPBACK;
    return bind.call(socket, port, inside, () => {
      socket.setMulticastInterface(LOOPBACK);
      onListening();
    });
  };
  socket.addMembership = (group) => addMembership.call(socket, group, LOOPBACK);
  return socket;
};

exports.LOOPBACK = LOOPBACK;
