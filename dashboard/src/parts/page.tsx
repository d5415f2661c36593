import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { type Failure, formatFailure } from '../state/api.ts'
import { t } from '../state/messages.ts'
import { isPaused } from '../state/query.ts'
import { route } from '../state/router.ts'

interface PageProps {
  readonly title: string
  /** Shown in place of the title; its text is the same. */
  readonly isLive?: boolean
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

/** Moves the focus to the heading when the reader has come to another page, and not when the first one is shown. */
let lastPath: string | undefined

export function Page({ title, isLive = false, actions, children }: PageProps): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null)
  const path = route.value.path.join('/')
  useEffect(() => {
    document.title = `${title} - Godwit`
    if (lastPath !== undefined && lastPath !== path) heading.current?.focus()
    lastPath = path
  }, [title, path])
  return (
    <>
      <div class="page-head">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        <div class="actions">
          {actions}
          {isLive && (
            <button type="button" onClick={() => (isPaused.value = !isPaused.value)}>
              {isPaused.value ? t('resume') : t('pause')}
            </button>
          )}
        </div>
      </div>
      {children}
    </>
  )
}

interface FailureProps {
  readonly failure: Failure | undefined
  readonly onRetry: () => void
}

/** Error message of a request. An unreachable broker is reported once, at the top of the page. */
export function FailureNotice({ failure, onRetry }: FailureProps): JSX.Element | null {
  if (failure === undefined || failure.kind === 'unreachable') return null
  return (
    <div role="alert" class="notice failed">
      {formatFailure(failure)}{' '}
      <button type="button" onClick={onRetry}>
        {t('tryAgain')}
      </button>
    </div>
  )
}

/** Pairs of a name and a value. */
export function Facts({ facts }: { readonly facts: readonly (readonly [string, ComponentChildren])[] }): JSX.Element {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
