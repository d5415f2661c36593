// Names of a client that the configuration derives from its packets.

import { gatewayEntries, type GatewaysConfig, readSettingFields, type SettingFields } from '../config/index.ts'

const { entries } = gatewayEntries.mqttsn.entries.clientinfo_override

/** Templates; undefined: the protocol's value. The gateways have the same settings. */
export type ClientInfoOverride = SettingFields<typeof entries>

export function toClientInfoOverride(
  values: GatewaysConfig['mqttsn' | 'stomp']['clientinfo_override'],
): ClientInfoOverride {
  return readSettingFields(entries, values)
}

export interface ClientInfo<Password> {
  readonly clientId: string
  readonly username: string | undefined
  readonly password: Password | undefined
}

type Headers = ReadonlyMap<string, string>

const none: Headers = new Map()

const placeholder = /\$\{(?:ConnInfo\.)?clientid\}|\$\{Packet\.headers\.([\w-]+)\}/g

/** Returns the names for the broker: a template replaces what the client has sent. */
export function overrideClientInfo<Password extends string | Buffer>(
  { clientId, username, password }: ClientInfoOverride,
  sent: ClientInfo<Password>,
  headers = none,
): ClientInfo<Password | string> {
  if (clientId === undefined && username === undefined && password === undefined) return sent
  const fill = (template: string | undefined): string | undefined =>
    template === undefined ? undefined : fillTemplate(template, sent.clientId, headers)
  return {
    clientId: fill(clientId) ?? sent.clientId,
    username: fill(username) ?? sent.username,
    password: fill(password) ?? sent.password,
  }
}

export function overrideClientId({ clientId }: ClientInfoOverride, sent: string): string {
  return clientId === undefined ? sent : fillTemplate(clientId, sent, none)
}

/**
 * Replaces `${ConnInfo.clientid}`, and `${Packet.headers.login}` if the first packet has headers. In one pass: a value that looks like a
 * placeholder is not replaced.
 */
function fillTemplate(template: string, clientId: string, headers: Headers): string {
  return template.replaceAll(placeholder, (_, name?: string) =>
    name === undefined ? clientId : (headers.get(name) ?? ''),
  )
}
