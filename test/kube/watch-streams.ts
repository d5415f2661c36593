// Watches: a response that has one line for each change.

import type { ServerResponse } from 'node:http'
import { KubeError } from './kube-error.ts'
import type { JsonObject, KubeObject } from './kube-object.ts'
import type { ObjectStore, StoreEvent } from './object-store.ts'
import { formatApiVersion, type ResourceType } from './resource-types.ts'
import { parseSelectors, type ObjectFilter } from './selectors.ts'

interface WatchStream {
  readonly response: ServerResponse
  readonly type: ResourceType
  readonly hasBookmarks: boolean
  readonly stop: () => void
}

export class WatchStreams {
  readonly #store: ObjectStore
  readonly #streams = new Set<WatchStream>()

  constructor(store: ObjectStore) {
    this.#store = store
  }

  get count(): number {
    return this.#streams.size
  }

  open(response: ServerResponse, type: ResourceType, namespace: string | undefined, query: URLSearchParams): void {
    const isWanted = parseSelectors(query)
    const isInitial = query.get('sendInitialEvents') === 'true'
    const version = query.get('resourceVersion') ?? ''
    const hasBookmarks = query.get('allowWatchBookmarks') === 'true'
    response.writeHead(200, { 'content-type': 'application/json' })
    response.flushHeaders()
    const isOfStream = (event: StoreEvent): boolean =>
      event.resource.plural === type.plural &&
      event.resource.group === type.group &&
      (namespace === undefined || event.object.metadata.namespace === namespace)
    const send = (event: StoreEvent): void => {
      const sent = isOfStream(event) ? selectEvent(event, isWanted) : undefined
      if (sent !== undefined) writeLine(response, { type: sent, object: event.object })
    }
    if (isInitial || version === '' || version === '0') {
      for (const object of this.#store.list(type, namespace).filter(isWanted))
        writeLine(response, { type: 'ADDED', object })
      if (isInitial) this.#writeBookmark(response, type, { 'k8s.io/initial-events-end': 'true' })
    } else {
      try {
        for (const event of this.#store.eventsAfter(Number(version))) send(event)
      } catch (error) {
        if (!(error instanceof KubeError)) throw error
        writeLine(response, { type: 'ERROR', object: error.toStatus() })
        response.end()
        return
      }
    }
    const unsubscribe = this.#store.subscribe(send)
    const timeoutMs = Number(query.get('timeoutSeconds') ?? 1_800) * 1_000
    const timer = setTimeout(() => {
      if (hasBookmarks) this.#writeBookmark(response, type)
      response.end()
    }, timeoutMs)
    const stream: WatchStream = {
      response,
      type,
      hasBookmarks,
      stop: () => {
        unsubscribe()
        clearTimeout(timer)
        this.#streams.delete(stream)
      },
    }
    this.#streams.add(stream)
    response.on('close', stream.stop)
  }

  /** Sends the current revision to all watches that accept bookmarks. */
  sendBookmarks(): void {
    for (const { response, type, hasBookmarks } of this.#streams) if (hasBookmarks) this.#writeBookmark(response, type)
  }

  /** Ends all watches; with `isAbrupt`, in the middle of a line, as when a connection is lost. */
  closeAll(isAbrupt = false): void {
    for (const { response, stop } of this.#streams) {
      stop()
      if (isAbrupt) response.write('{"type":"MODI', () => response.destroy())
      else response.end()
    }
  }

  #writeBookmark(response: ServerResponse, type: ResourceType, annotations?: JsonObject): void {
    const metadata = { resourceVersion: String(this.#store.revision), ...(annotations && { annotations }) }
    writeLine(response, { type: 'BOOKMARK', object: { kind: type.kind, apiVersion: formatApiVersion(type), metadata } })
  }
}

function writeLine(
  response: ServerResponse,
  event: { readonly type: string; readonly object: JsonObject | KubeObject },
): void {
  response.write(`${JSON.stringify(event)}\n`)
}

/** Returns the type of the event for a stream with a selector: an object that leaves the selector is deleted for it. */
function selectEvent({ type, object, previous }: StoreEvent, isWanted: ObjectFilter): StoreEvent['type'] | undefined {
  if (type === 'DELETED') return isWanted(previous ?? object) ? 'DELETED' : undefined
  const wasWanted = previous !== undefined && isWanted(previous)
  if (isWanted(object)) return wasWanted ? 'MODIFIED' : 'ADDED'
  return wasWanted ? 'DELETED' : undefined
}
