// What a page requests of the API, once and again. A response to an earlier request is dropped; while a new one is on
// its way the old rows stay.

import { useEffect, useRef, useState } from 'preact/hooks'
import { signal } from '@preact/signals'
import type { CallOptions, Failure, Result } from './api.ts'
import { namespaceInRoute } from './router.ts'

export interface Query<Reply> {
  readonly reply: Reply | undefined
  readonly failure: Failure | undefined
  readonly isLoading: boolean
  /** The reply came by itself, and not after an act of the user: rows under the hands of the reader stay in place. */
  readonly isPolled: boolean
  /** Asks again now, as an act of the user. */
  readonly reload: () => void
}

/** The reader has stopped the lists and figures of the page. */
export const isPaused = signal(false)

export const figuresMs = 2_000
export const listMs = 5_000
/** Before the page says that it loads. */
const loadingAfterMs = 150

interface State<Reply> {
  readonly reply?: Reply
  readonly failure?: Failure
  readonly isPolled: boolean
}

/** `key` says what is asked: another key or namespace is another question. `everyMs` undefined: asked once. */
export function useQuery<Reply>(
  key: string,
  ask: (options: CallOptions) => Promise<Result<Reply>>,
  everyMs?: number,
): Query<Reply> {
  const [state, setState] = useState<State<Reply>>({ isPolled: false })
  const [isLoading, setLoading] = useState(false)
  const latest = useRef(ask)
  latest.current = ask
  const again = useRef<() => void>(() => undefined)
  useEffect(() => {
    const question = new Asking(
      (options) => latest.current(options),
      (result, isPolled) =>
        setState((before) =>
          'reply' in result ? { reply: result.reply, isPolled } : { ...before, failure: result.failure },
        ),
      setLoading,
    )
    again.current = () => void question.run(false)
    void question.run(false)
    if (everyMs !== undefined) question.repeat(everyMs)
    return () => question.end()
  }, [key, namespaceInRoute.value, everyMs])
  return { ...state, reply: state.reply, failure: state.failure, isLoading, reload: () => again.current() }
}

class Asking<Reply> {
  readonly #ask: (options: CallOptions) => Promise<Result<Reply>>
  readonly #take: (result: Result<Reply>, isPolled: boolean) => void
  readonly #setLoading: (isLoading: boolean) => void
  #current: AbortController | undefined
  #timer: ReturnType<typeof setInterval> | undefined

  constructor(
    ask: (options: CallOptions) => Promise<Result<Reply>>,
    take: (result: Result<Reply>, isPolled: boolean) => void,
    setLoading: (isLoading: boolean) => void,
  ) {
    this.#ask = ask
    this.#take = take
    this.#setLoading = setLoading
  }

  async run(isIdle: boolean): Promise<void> {
    this.#current?.abort()
    const asking = new AbortController()
    this.#current = asking
    const loading = setTimeout(() => this.#setLoading(true), loadingAfterMs)
    const result = await this.#ask({ isIdle, signal: asking.signal })
    clearTimeout(loading)
    if (asking.signal.aborted) return
    this.#current = undefined
    this.#setLoading(false)
    this.#take(result, isIdle)
  }

  repeat(everyMs: number): void {
    this.#timer = setInterval(this.#poll, everyMs)
    // What is hours old when the reader comes back is replaced at once.
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
