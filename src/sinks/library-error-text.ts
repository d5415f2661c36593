// Errors that client libraries report about their connection, as sentences with a remedy. Texts of servers stay as they are: they name the cause.

const closed = 'the service closed the connection: see its log, and check that it runs and accepts further clients'
const silent =
  'the service does not respond in time: check the network, its load, and the time limits of the connector and of the action'
const withoutTls =
  'the service does not use TLS on this port: set ssl.enable = false of the connector, or enable TLS there'
const withoutPassword = 'the service requires a password: set password of the connector'
const notProven =
  'the service did not prove that it knows the password: check password, server and ssl of the connector'
const unreachable = 'no server of the service is reachable: check server of the connector, and that the service runs'

/** The beginnings of the messages of pg, mysql2, mongodb, redis, amqplib, undici and the client of NATS. */
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
  [/^There was an error establishing an SSL connection/, withoutTls],
  [/^The server does not support SSL connections/, withoutTls],
  [/^SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be/, withoutPassword],
  [/^SASL: SCRAM-SERVER-/, notProven],
]

/** Returns the sentence with the text of the library, by which it can be found; other texts are returned unchanged. */
export function explainLibraryText(text: string): string {
  const found = sentences.find(([beginning]) => beginning.test(text))
  return found === undefined ? text : `${found[1]} (${text})`
}
