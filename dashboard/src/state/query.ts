// The requests of a page to the API, once or repeated. The response to an earlier request is dropped. Until the response to a new one
// arrives, the page shows the old rows.

import { useEffect, useRef, useState } from 'preact/hooks'
import { signal } from '@preact/signals'
import type { CallOptions, Failure, Result } from './api.ts'
import { namespaceInRoute } from './router.ts'

export interface Query<Reply> {
  readonly reply: Reply | undefined
  readonly failure: Failure | undefined
  readonly isLoading: boolean
  /** The reply belongs to a repeated request, not to an action of the user: the rows stay in place while the user reads them. */
  readonly isPolled: boolean
  /** Sends the request again now, as an action of the user. */
  readonly reload: () => void
}

/** The user has paused the lists and figures of the page. */
export const isPaused = signal(false)

export const figuresMs = 2_000
export const listMs = 5_000
/** Time before the page shows that it loads. */
const loadingAfterMs = 150

interface State<Reply> {
  readonly reply?: Reply
  readonly failure?: Failure
  readonly isPolled: boolean
}

/** `key` identifies the request: with another key or namespace, a new one is sent. `everyMs` undefined: it is sent once. */
export function useQuery<Reply>(
  key: string,
  send: (options: CallOptions) => Promise<Result<Reply>>,
  everyMs?: number,
): Query<Reply> {
  const [state, setState] = useState<State<Reply>>({ isPolled: false })
  const [isLoading, setLoading] = useState(false)
  const latest = useRef(send)
  latest.current = send
  const again = useRef<() => void>(() => undefined)
  useEffect(() => {
    const runner = new QueryRunner(
      (options) => latest.current(options),
      (result, isPolled) =>
        setState((before) =>
          'reply' in result ? { reply: result.reply, isPolled } : { ...before, failure: result.failure },
        ),
      setLoading,
    )
    again.current = () => void runner.run(false)
    void runner.run(false)
    if (everyMs !== undefined) runner.repeat(everyMs)
    return () => runner.end()
  }, [key, namespaceInRoute.value, everyMs])
  return { ...state, reply: state.reply, failure: state.failure, isLoading, reload: () => again.current() }
}

class QueryRunner<Reply> {
  readonly #send: (options: CallOptions) => Promise<Result<Reply>>
  readonly #take: (result: Result<Reply>, isPolled: boolean) => void
  readonly #setLoading: (isLoading: boolean) => void
  #current: AbortController | undefined
  #timer: ReturnType<typeof setInterval> | undefined

  constructor(
    send: (options: CallOptions) => Promise<Result<Reply>>,
    take: (result: Result<Reply>, isPolled: boolean) => void,
    setLoading: (isLoading: boolean) => void,
  ) {
    this.#send = send
    this.#take = take
    this.#setLoading = setLoading
  }

  async run(isIdle: boolean): Promise<void> {
    this.#current?.abort()
    const controller = new AbortController()
    this.#current = controller
    const loading = setTimeout(() => this.#setLoading(true), loadingAfterMs)
    const result = await this.#send({ isIdle, signal: controller.signal })
    clearTimeout(loading)
    if (controller.signal.aborted) return
    this.#current = undefined
    this.#setLoading(false)
    this.#take(result, isIdle)
  }

  repeat(everyMs: number): void {
    this.#timer = setInterval(this.#poll, everyMs)
    // If the user returns to the page after hours, old rows are replaced at once.
    document.addEventListener('visibilitychange', this.#poll)
  }

  readonly #poll = (): void => {
    if (document.visibilityState !== 'visible' || isPaused.value || this.#current !== undefined) return
    void this.run(true)
  }

  end(): void {
    clearInterval(this.#timer)
    document.removeEventListener('visibilitychange', this.#poll)
    this.#current?.abort()
  }
}
