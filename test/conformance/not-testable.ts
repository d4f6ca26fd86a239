// The normative statements of MQTT 5.0 that no test of a server can check, and why. Each other id of
// the list stands in the name of a test in this folder; test/tidy holds the two together.

export const notTestable: Readonly<Record<string, string>> = {
  'MQTT-3.1.2-20':
    'Binds the client: it has to send PINGREQ in time. The server side is MQTT-3.1.2-22.',
  'MQTT-3.1.2-21':
    'Binds the client: it has to use the keepalive of the server. That the server holds it to that is MQTT-3.2.2-21.',
  'MQTT-3.2.2-4':
    'Binds the client: what it does when the server claims a session it does not know.',
  'MQTT-3.2.2-5': 'Binds the client: it has to forget its session when the server has none.',
  'MQTT-3.3.2-10': 'Binds the client: it has to accept every alias up to its own maximum.',
  'MQTT-3.3.4-5':
    'Does not apply: for servers that send one copy for each overlapping subscription; this one sends one copy (MQTT-3.3.4-4).',
  'MQTT-3.3.4-8':
    'Binds the client: it must not hold back other packets because its own publish quota is used up.',
  'MQTT-4.5.0-2': 'Binds the client: it has to acknowledge what it receives.',
};
