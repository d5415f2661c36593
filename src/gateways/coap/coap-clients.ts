// The clients of one CoAP listener. A request names its client; the token of the connection, or else the identity of the DTLS association or
// the address, shows that it comes from that client. Otherwise a new connection to the broker decides: it takes over the client ID by the
// rules that apply to every client.

import { reasonCodes } from '../../protocol/index.ts'
import type { AddressProofs } from '../address-proofs.ts'
import { overrideClientId, overrideClientInfo } from '../client-info.ts'
import { canBeSameDevice, hasSameIdentity, isSamePeer, toAssociationKey } from '../peer-identity.ts'
import type { PeerAddress } from '../../transports/index.ts'
import { CoapClient, type CoapClientDependencies, type CoapCredentials } from './coap-client.ts'
import { readClientId, type CoapRequest } from './coap-request.ts'

export class CoapClients {
  readonly #gateway: CoapClientDependencies
  readonly #proofs: AddressProofs
  /** By client ID. */
  readonly #clients = new Map<string, CoapClient>()
  /** Clients that the broker has not accepted, and that replace another one then: by client ID and peer. */
  readonly #replacing = new Map<string, CoapClient>()

  constructor(gateway: CoapClientDependencies, proofs: AddressProofs) {
    this.#gateway = gateway
    this.#proofs = proofs
  }

  get size(): number {
    return this.#clients.size
  }

  get(clientId: string): CoapClient | undefined {
    return this.#clients.get(clientId)
  }

  endAll(): void {
    for (const client of [...this.#clients.values(), ...this.#replacing.values()]) client.end('normal')
  }

  removeClient(client: CoapClient): void {
    const { clientId } = client.credentials
    if (this.#clients.get(clientId) === client) this.#clients.delete(clientId)
    this.#forgetReplacing(client)
  }

  /** Returns the client of this ID if the request has its token, and comes from the identity that got the token. */
  findByToken(clientId: string, token: string | undefined, peer: PeerAddress): CoapClient | undefined {
    const client = this.#clients.get(this.#resolveClientId(clientId))
    if (client === undefined || !client.hasToken(token) || !hasSameIdentity(client.peer, peer)) return undefined
    client.recordReceived(peer)
    // The token was sent to this address. At another one it shows who the client is, and not that it receives there.
    if (isSamePeer(client.firstPeer, peer)) this.#proofs.recordProof(peer)
    return client
  }

  /** Returns the client of a request. `full`: a limit is reached. */
  resolveClient(parsed: CoapRequest, peer: PeerAddress): CoapClient | 'unauthenticated' | 'full' {
    const { query } = parsed
    const token = query.get('token')
    const clientId = readClientId(parsed, peer)
    const known = this.#clients.get(this.#resolveClientId(clientId))
    if (known?.token !== undefined || this.#gateway.settings.requiresConnection || token !== undefined)
      return this.findByToken(clientId, token, peer) ?? 'unauthenticated'
    const credentials = this.#resolveCredentials(query, clientId)
    const candidates = [known, this.#replacing.get(toReplacingKey(credentials, peer))]
    const own = candidates.find((one) => one?.hasCredentials(credentials) === true && canBeSameDevice(one.peer, peer))
    const client = own ?? this.#open(credentials, undefined, peer)
    client?.recordReceived(peer)
    return client ?? 'full'
  }

  /** Opens a connection with a token. */
  connect(
    query: ReadonlyMap<string, string>,
    clientId: string,
    token: string,
    peer: PeerAddress,
  ): CoapClient | undefined {
    return this.#open(this.#resolveCredentials(query, clientId), token, peer)
  }

  #open(credentials: CoapCredentials, token: string | undefined, peer: PeerAddress): CoapClient | undefined {
    const { dependencies, settings } = this.#gateway
    const { clientId } = credentials
    const known = this.#clients.get(clientId)
    const isFull = this.#clients.size >= settings.maxClients || !dependencies.hasSpace()
    if ((known === undefined && isFull) || !dependencies.addresses.takeClient(peer.address)) {
      dependencies.counters.dropped.limit++
      return undefined
    }
    const client = new CoapClient(this.#gateway, { credentials, token, peer })
    if (known === undefined) this.#clients.set(clientId, client)
    else this.#replacing.set(toReplacingKey(credentials, peer), client)
    // When the broker accepts this connection, it closes the earlier one (takeover).
    client.runWhenOpen((reasonCode) => {
      this.#forgetReplacing(client)
      if (reasonCode === reasonCodes.success) this.#clients.set(clientId, client)
    })
    this.#gateway.schedule(client)
    return client
  }

  #forgetReplacing(client: CoapClient): void {
    const place = toReplacingKey(client.credentials, client.firstPeer)
    if (this.#replacing.get(place) === client) this.#replacing.delete(place)
  }

  /** Returns the client ID for the broker. */
  #resolveClientId(clientId: string): string {
    return overrideClientId(this.#gateway.settings.override, clientId)
  }

  #resolveCredentials(query: ReadonlyMap<string, string>, clientId: string): CoapCredentials {
    const sent = { clientId, username: query.get('username'), password: query.get('password') }
    return overrideClientInfo(this.#gateway.settings.override, sent)
  }
}

function toReplacingKey({ clientId }: CoapCredentials, peer: PeerAddress): string {
  return `${clientId}\0${toAssociationKey(peer)}`
}
