import type { ComponentChildren, JSX } from 'preact'
import { useRef } from 'preact/hooks'
import { changeQuery, readQueryValue } from '../state/router.ts'
import { useId } from './fields.tsx'

export interface Tab {
  readonly key: string
  readonly title: string
  readonly render: () => ComponentChildren
}

/** Tabs by arrows, Home and End; which one is open is in the route. Filters of another tab go with it. */
export function Tabs({ label, tabs }: { readonly label: string; readonly tabs: readonly Tab[] }): JSX.Element {
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const open = tabs.find(({ key }) => key === readQueryValue('tab')) ?? tabs[0]
  const show = (tab: Tab | undefined): void => {
    if (tab === undefined) return
    const cleared = { search: undefined, page: undefined, cursor: undefined }
    changeQuery({ ...cleared, tab: tab === tabs[0] ? undefined : tab.key })
    list.current?.querySelector<HTMLElement>(`[data-tab="${tab.key}"]`)?.focus()
  }
  const move = (event: KeyboardEvent): void => {
    const at = tabs.findIndex((tab) => tab === open)
    const last = tabs.length - 1
    const places: Readonly<Record<string, number>> = {
      ArrowRight: at === last ? 0 : at + 1,
      ArrowLeft: at === 0 ? last : at - 1,
      Home: 0,
      End: last,
    }
    const place = places[event.key]
    if (place === undefined) return
    event.preventDefault()
    show(tabs[place])
  }
  return (
    <>
      <div role="tablist" class="tabs" aria-label={label} ref={list} onKeyDown={move}>
        {tabs.map((tab) => (
          <button
            key={tab.key}
            id={`${id}-${tab.key}`}
            type="button"
            role="tab"
            data-tab={tab.key}
            aria-selected={tab === open}
            aria-controls={`${id}-panel`}
            tabIndex={tab === open ? 0 : -1}
            onClick={() => show(tab)}
          >
            {tab.title}
          </button>
        ))}
      </div>
      {open !== undefined && (
        <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${open.key}`} key={open.key}>
          {open.render()}
        </div>
      )}
    </>
  )
}
