// Errors that client libraries report about their connection, as sentences with a remedy. Texts of servers stay as they are: they name the cause.

const closed = 'the service closed the connection: see its log, and check that it runs and accepts further clients'
const silent =
  'the service does not respond in time: check the network, its load, and the time limits of the connector and of the action'
const withoutTls =
  'the service does not use TLS on this port: set ssl.enable = false of the connector, or enable TLS there'
const notTls =
  'the service closed the connection instead of a TLS handshake: check ssl of the connector, and that this port uses TLS'
const wrongProtocol =
  'the service sent what its protocol does not allow: check the server, the port and ssl of the connector'
const withoutPassword = 'the service requires a password: set password of the connector'
const notProven =
  'the service did not prove that it knows the password: check password, server and ssl of the connector'
const unreachable = 'no server of the service is reachable: check server of the connector, and that the service runs'
const wrongPassword =
  'the service does not accept the credentials: check username, password and mechanism of authentication of the connector'
const otherMechanism =
  'the service does not offer this mechanism: set mechanism of authentication of the connector to one that it offers'
const noTopic = 'the topic does not exist there: create the topic, or check topic in parameters'
const notAllowed =
  'the service does not allow this to the user of the connector: allow it there (ACL), or use another user'
const missingReplicas =
  'too few servers of the service are in sync or reachable for this topic: start the missing servers, or check their logs'
const tooLarge =
  'the record is too large for the service: increase max.message.bytes of the topic and of its servers, or send less'
const wrongSessionTimeout =
  'the service does not allow this time limit: change session_timeout of the source, or the limits of the service'

/** The beginnings of the messages of pg, mysql2, mongodb, redis, amqplib, undici, kafkajs and the client of NATS. */
const sentences: readonly (readonly [RegExp, string])[] = [
  [/^Connection terminated due to connection timeout/, silent],
  [/^(timeout exceeded when trying to connect|timeout expired|Query read timeout)/, silent],
  [/^(Connection timeout|Socket timeout|(Connect|Headers|Body) Timeout Error|Heartbeat timeout)/, silent],
  [/^Socket '\w+' timed out after/, silent],
  [/^connection \S+ to \S+ timed out/, silent],
  [/^connection \S+ to \S+ closed/, closed],
  [/^Server selection timed out after/, unreachable],
  [/^(Connection terminated|Client was closed|Client has encountered a connection error)/, closed],
  [/^Connection lost: The server closed the connection/, closed],
  [/^Can't add new command when connection is in closed state/, closed],
  [/^(Socket closed|The client is (closed|offline|destroyed)|other side closed|Unexpected close)/, closed],
  [/^([Cc]hannel closed|[Cc]onnection clos(ed|ing)|Pool is closed)/, closed],
  [/^(closed connection|connection (draining|disconnected))$/, closed],
  [/^connection refused$/, unreachable],
  [/^timeout$/, silent],
  [/^(Closed connection|Connection closed by the server|Not connected|Broker not connected)$/, closed],
  [/^Request \S+\(.*\) timed out$/, silent],
  [/^(No brokers? (in the broker pool|available)|Broker \S+ not found in the cached metadata)/, unreachable],
  [/^SASL [\w-]+ mechanism is not supported by the server/, otherMechanism],
  [/^SASL (PLAIN|SCRAM SHA\d+) authentication failed|^SASL [\w ]+: Invalid username or password/, wrongPassword],
  [/^SASL Authentication failed/, wrongPassword],
  [/^This server does not host this topic-partition/, noTopic],
  [/^(Not authorized to access (topics|group)|Cluster authorization failed)/, notAllowed],
  [/^Messages are (rejected since there are fewer|written to the log, but to fewer) in-sync replicas/, missingReplicas],
  [/^There is no leader for this topic-partition|^The request timed out$/, missingReplicas],
  [/^The request included (a message|message batch) larger than/, tooLarge],
  [/^The session timeout is not within the range/, wrongSessionTimeout],
  [/^(the connection was reset|error connecting - node provided an undefined error)/, closed],
  [/^Client network socket disconnected before secure TLS connection was established/, notTls],
  [/^(The value of "\w+" is out of range|Attempt to access memory outside buffer bounds)/, wrongProtocol],
  [/^There was an error establishing an SSL connection/, withoutTls],
  [/^The server does not support SSL connections/, withoutTls],
  [/^SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be/, withoutPassword],
  [/^SASL: SCRAM-SERVER-/, notProven],
]

/** kafkajs puts it before each text of a socket. */
const socketPrefix = /^Connection error: /

/** Returns the sentence with the text of the library, by which it can be found; other texts are returned unchanged. */
export function explainLibraryText(message: string): string {
  const text = message.replace(socketPrefix, '')
  const found = sentences.find(([beginning]) => beginning.test(text))
  return found === undefined ? text : `${found[1]} (${text})`
}
