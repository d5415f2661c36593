// The client side of SCRAM, written from the standard, independently of the server side.

import { createHash, createHmac, pbkdf2Sync } from 'node:crypto'

export interface ScramClientOptions {
  readonly hash: 'sha256' | 'sha512'
  readonly username: string
  readonly password: string
  readonly nonce?: string
  readonly header?: string
}

export class ScramClient {
  readonly first: string
  readonly #options: ScramClientOptions
  readonly #bare: string
  readonly #header: string

  constructor(options: ScramClientOptions) {
    this.#options = options
    this.#header = options.header ?? 'n,,'
    this.#bare = `n=${options.username.replaceAll('=', '=3D').replaceAll(',', '=2C')},r=${options.nonce ?? 'fyko+d2lbbFgONRv9qkxdawL'}`
    this.first = this.#header + this.#bare
  }

  /** The last message, and the expected response of the server. */
  final(
    serverFirst: string,
    { binding = this.#header, nonce: ownNonce }: { binding?: string; nonce?: string } = {},
  ): { message: string; verifier: string } {
    const { hash, password } = this.#options
    const [, sentNonce, salt, iterations] = /^r=([^,]+),s=([^,]+),i=(\d+)$/.exec(serverFirst)!
    const bytes = hash === 'sha256' ? 32 : 64
    const nonce = ownNonce ?? sentNonce
    const salted = pbkdf2Sync(password.normalize('NFKC'), Buffer.from(salt, 'base64'), Number(iterations), bytes, hash)
    const hmac = (key: Uint8Array, text: string): Buffer => createHmac(hash, key).update(text).digest()
    const clientKey = hmac(salted, 'Client Key')
    const storedKey = createHash(hash).update(clientKey).digest()
    const withoutProof = `c=${Buffer.from(binding).toString('base64')},r=${nonce}`
    const authMessage = `${this.#bare},${serverFirst},${withoutProof}`
    const signature = hmac(storedKey, authMessage)
    const proof = Buffer.from(clientKey.map((byte, index) => byte ^ signature[index])).toString('base64')
    const verifier = `v=${hmac(hmac(salted, 'Server Key'), authMessage).toString('base64')}`
    return { message: `${withoutProof},p=${proof}`, verifier }
  }
}
