// Names of a client that the configuration derives from its packets.

/** Templates; undefined: the protocol's value. */
export interface ClientInfoOverride {
  readonly clientId: string | undefined
  readonly username: string | undefined
  readonly password: string | undefined
}

const none: ReadonlyMap<string, string> = new Map()

const placeholder = /\$\{(?:ConnInfo\.)?clientid\}|\$\{Packet\.headers\.([\w-]+)\}/g

/**
 * Replaces `${ConnInfo.clientid}`, and `${Packet.headers.login}` if the first packet has headers. In one pass: a value that looks like a
 * placeholder is not replaced.
 */
export function fillTemplate(template: string, clientId: string, headers = none): string {
  return template.replaceAll(placeholder, (_, name?: string) =>
    name === undefined ? clientId : (headers.get(name) ?? ''),
  )
}
