// Places in a text of the configuration where something of the client is put: `%c` or `${clientid}`.

/** What can be put in, by its longer name. Undefined: there is none, and nothing is put in. */
export interface Placeholders {
  readonly clientid?: string | undefined
  readonly username?: string | undefined
  readonly password?: string | undefined
  /** The address of the client. */
  readonly peerhost?: string | undefined
  readonly protocol?: string | undefined
  /** Of the listener. */
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

/**
 * Fills in what `values` has, in one pass: what is put in is not looked at again. What is no placeholder stays as it is.
 */
export function fillPlaceholders(pattern: string, values: Placeholders): string {
  return pattern.replace(/%([A-Za-z])|\$\{([a-z_]+)\}/g, (found, letter?: string, name?: string) => {
    const key = letter === undefined ? name : letters[letter]
    return key !== undefined && names.has(key) ? (values[key as keyof Placeholders] ?? '') : found
  })
}
