// What the broker knows a client by, where the configuration says something else than its protocol.

/** Templates; undefined: what the protocol says. */
export interface ClientInfoOverride {
  readonly clientId: string | undefined
  readonly username: string | undefined
  readonly password: string | undefined
}

const none: ReadonlyMap<string, string> = new Map()

/** `${ConnInfo.clientid}`, and `${Packet.headers.login}` where the first packet has headers. */
export function fillTemplate(template: string, clientId: string, headers = none): string {
  return template
    .replaceAll('${ConnInfo.clientid}', clientId)
    .replaceAll('${clientid}', clientId)
    .replaceAll(/\$\{Packet\.headers\.([\w-]+)\}/g, (_, name: string) => headers.get(name) ?? '')
}
