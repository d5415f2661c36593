// The frame of every page: navigation, namespace, account, and the result of the last action.

import type { ComponentType, JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ConfirmationDialog } from '../parts/dialogs.tsx'
import { Name } from '../parts/values.tsx'
import { api, isPageMissing, isAllowed } from '../state/api.ts'
import { t } from '../state/messages.ts'
import { brokerOffsetMinutes } from '../state/preferences.ts'
import { useQuery } from '../state/query.ts'
import { outcome } from '../state/results.ts'
import { isForNamespaces, formatLink, route } from '../state/router.ts'
import { session } from '../state/login-session.ts'
import { AccountMenu } from './account.tsx'
import { Connection, LastOutcome } from './connection.tsx'
import { NamespaceSelect } from './namespace-select.tsx'
import { type PageEntry, listVisiblePages } from './pages.ts'

export function Shell(): JSX.Element {
  const pages = listVisiblePages()
  const wanted = route.value.path[0]
  const page = pages.find(({ path }) => path === wanted) ?? pages[0]
  const path = route.value.path.join('/')
  useBrokerClock()
  useEffect(() => {
    outcome.value = undefined
  }, [path])
  return (
    <>
      <a class="skip" href="#content" onClick={skipToContent}>
        {t('skipToContent')}
      </a>
      <header class="head">
        <span class="brand">Godwit</span>
        <NamespaceChoice page={page} />
        <AccountMenu />
      </header>
      <div class="frame">
        <Navigation pages={pages} open={page} />
        <main id="content" tabIndex={-1}>
          <Connection />
          <LastOutcome />
          {page === undefined ? <p>{t('nothingToSee')}</p> : <LoadedPage key={page.path} page={page} />}
        </main>
      </div>
      <ConfirmationDialog />
    </>
  )
}

/** The hash is the route: the link moves the focus by itself. */
function skipToContent(event: Event): void {
  event.preventDefault()
  document.querySelector<HTMLElement>('#content')?.focus()
}

const quarterMinutes = 15
const clockMs = 600_000

/** Reads the offset of the broker's time zone from UTC. The API formats times in this zone. */
function useBrokerClock(): void {
  const { reply } = useQuery('clock', (options) => api.list_brokers({}, options), clockMs)
  const datetime = reply?.data[0]?.datetime
  useEffect(() => {
    if (datetime === undefined) return
    const minutes = (Date.parse(`${datetime.replace(' ', 'T')}Z`) - Date.now()) / 60_000
    brokerOffsetMinutes.value = Math.round(minutes / quarterMinutes) * quarterMinutes
  }, [datetime])
}

interface NavigationProps {
  readonly pages: readonly PageEntry[]
  readonly open: PageEntry | undefined
}

function Navigation({ pages, open }: NavigationProps): JSX.Element {
  const [isMenuOpen, setMenuOpen] = useState(false)
  const groups = [...new Set(pages.map(({ group }) => group))]
  return (
    <div class="navigation">
      <button type="button" class="menu-button" aria-expanded={isMenuOpen} onClick={() => setMenuOpen(!isMenuOpen)}>
        {t('menu')}
      </button>
      <nav aria-label={t('mainNavigation')} class={isMenuOpen ? 'is-open' : ''}>
        {groups.map((group) => (
          <div key={group}>
            <h2>{t(group)}</h2>
            <ul>
              {pages
                .filter((page) => page.group === group)
                .map((page) => (
                  <li key={page.path}>
                    <a
                      href={formatLink([page.path])}
                      aria-current={page === open ? 'page' : undefined}
                      onClick={() => setMenuOpen(false)}
                    >
                      {t(page.title)}
                    </a>
                  </li>
                ))}
            </ul>
          </div>
        ))}
      </nav>
    </div>
  )
}

function NamespaceChoice({ page }: { readonly page: PageEntry | undefined }): JSX.Element | null {
  const own = session.value?.namespace
  if (own !== undefined) {
    return (
      <span class="namespace">
        {t('namespace')} <Name text={own} />
      </span>
    )
  }
  // The backup page has the choice beside its files.
  const hasChoice = page !== undefined && page.path !== 'backup' && isForNamespaces(page.path)
  return hasChoice && isAllowed('get_namespaces') ? <NamespaceSelect /> : null
}

function LoadedPage({ page }: { readonly page: PageEntry }): JSX.Element {
  const [Loaded, setLoaded] = useState<{ readonly it: ComponentType } | { readonly problem: string }>()
  useEffect(() => {
    let isWanted = true
    page.load().then(
      (module) => setLoaded({ it: module.default }),
      (error: unknown) => {
        if (!isWanted) return
        setLoaded({ problem: String(error) })
        isPageMissing.value = true
        // Says whether it is the broker that went away.
        void api.get_status({}, { isIdle: true })
      },
    )
    return () => {
      isWanted = false
      isPageMissing.value = false
    }
  }, [page])
  if (Loaded === undefined) return <p aria-busy="true">{t('loading')}</p>
  if ('it' in Loaded) return <Loaded.it />
  return (
    <div role="alert" class="notice failed">
      {t('pageNotLoaded')} {Loaded.problem}{' '}
      <button type="button" onClick={() => location.reload()}>
        {t('tryAgain')}
      </button>
    </div>
  )
}
