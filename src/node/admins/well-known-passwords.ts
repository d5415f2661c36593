// Passwords that attackers try first.

const wellKnown: ReadonlySet<string> = new Set([
  'public',
  'admin',
  'administrator',
  'password',
  'godwit',
  'emqx',
  'nanomq',
  'mosquitto',
  'mqtt',
  'root',
  'guest',
  'test',
  'changeme',
  'changeit',
  'default',
  'secret',
  '123456',
  '12345678',
  '123456789',
  'admin123',
  'password1',
  'public123',
])

export function isWellKnownPassword(username: string, password: string): boolean {
  const plain = password.toLowerCase()
  return plain === '' || plain === username.toLowerCase() || wellKnown.has(plain)
}

/** Returns the passwords that are well known for this name, for a comparison with a hash. */
export function listWellKnownPasswords(username: string): readonly string[] {
  return ['', username, ...wellKnown]
}
