// Names of a client that the configuration derives from its packets.

/** Templates; undefined: the protocol's value. */
export interface ClientInfoOverride {
  readonly clientId: string | undefined
  readonly username: string | undefined
  readonly password: string | undefined
}

const none: ReadonlyMap<string, string> = new Map()

/** Replaces `${ConnInfo.clientid}`, and `${Packet.headers.login}` if the first packet has headers. */
export function fillTemplate(template: string, clientId: string, headers = none): string {
  return template
    .replaceAll('${ConnInfo.clientid}', clientId)
    .replaceAll('${clientid}', clientId)
    .replaceAll(/\$\{Packet\.headers\.([\w-]+)\}/g, (_, name: string) => headers.get(name) ?? '')
}
