// Placeholders for properties of a client in configured texts: `%c` or `${clientid}`.

/** Values by their long name. Undefined: the placeholder is replaced by nothing. */
export interface Placeholders {
  readonly clientid?: string | undefined
  readonly username?: string | undefined
  readonly password?: string | undefined
  /** Address of the client. */
  readonly peerhost?: string | undefined
  readonly protocol?: string | undefined
  /** Port of the listener. */
  readonly port?: string | undefined
  readonly cert_common_name?: string | undefined
  readonly cert_subject?: string | undefined
  readonly topic?: string | undefined
  /** 1: subscribe, 2: publish. */
  readonly access?: string | undefined
  readonly mountpoint?: string | undefined
}

const letters: Readonly<Record<string, keyof Placeholders>> = {
  c: 'clientid',
  u: 'username',
  P: 'password',
  a: 'peerhost',
  r: 'protocol',
  p: 'port',
  C: 'cert_common_name',
  d: 'cert_subject',
  t: 'topic',
  A: 'access',
  m: 'mountpoint',
}

const names: ReadonlySet<string> = new Set(Object.values(letters))

/** Replaces placeholders in one pass: inserted values are not searched again. Other text is unchanged, unknown placeholders included. */
export function fillPlaceholders(pattern: string, values: Placeholders): string {
  return pattern.replace(/%([A-Za-z])|\$\{([a-z_]+)\}/g, (found, letter?: string, name?: string) => {
    const key = letter === undefined ? name : letters[letter]
    return key !== undefined && names.has(key) ? (values[key as keyof Placeholders] ?? '') : found
  })
}
