// Options of the commands that connect to any MQTT broker (`godwit bench`, `godwit conformance`).

interface WithOptions {
  option(flags: string, description: string, defaultValue?: string): this
}

export const benchScenarios = [
  { name: 'publish', description: 'measure publishing clients; latency until the acknowledgement (QoS 1 and 2)' },
  { name: 'subscribe', description: 'measure one publisher with many subscribers; latency until the delivery' },
  { name: 'connect', description: 'measure new connections, while the oldest are closed; latency until CONNACK' },
] as const

export function addProbeOptions<Options extends WithOptions>(command: Options): Options {
  return command
    .option('--url <url>', 'address of the broker: mqtt://host:port or mqtts://host:port', 'mqtt://127.0.0.1:1883')
    .option('--username <name>', 'user name of the clients')
    .option('--password-file <file>', 'file with the password of the clients')
    .option('--ca <file>', 'file with the certificate of the trusted authority, in PEM')
}
