// The tree of topics, by arrows as by pointer.

import type { JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { formatNumber, escapeHiddenLetters } from '../state/format.ts'
import { type LiveMessage, countMessagesBelow, type TopicNode } from '../state/live-topics.ts'
import { t } from '../state/messages.ts'
import { formatPayload } from '../state/payload-text.ts'
import { decodeBase64 } from './payload.tsx'

interface TreeProps {
  readonly root: TopicNode
  /** Since the stream began. */
  readonly seconds: number
  readonly search: string
  readonly selected: string | undefined
  readonly onSelect: (topic: string) => void
}

interface Row {
  readonly node: TopicNode
  readonly depth: number
}

/** Rows in the page; the search finds the others. */
const maxRows = 300
/** Characters of a value that stand in the tree. */
const maxValue = 40

export function TopicTree({ root, seconds, search, selected, onSelect }: TreeProps): JSX.Element {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set())
  const [focused, setFocused] = useState<string>()
  const place = useRef<HTMLUListElement>(null)
  const rows = listRows(root, open, search)
  const current = rows.find(({ node }) => node.topic === focused) ?? rows[0]
  const toggle = (topic: string, isOpen: boolean): void => {
    const next = new Set(open)
    if (isOpen) next.add(topic)
    else next.delete(topic)
    setOpen(next)
  }
  const focus = (row: Row | undefined): void => {
    if (row === undefined) return
    setFocused(row.node.topic)
    const at = rows.indexOf(row)
    place.current?.querySelectorAll<HTMLElement>('[role=treeitem]')[at]?.focus()
  }
  const move = (event: KeyboardEvent): void => {
    if (current === undefined) return
    const at = rows.indexOf(current)
    const { topic, children } = current.node
    const acts: Readonly<Record<string, () => void>> = {
      ArrowDown: () => focus(rows[at + 1]),
      ArrowUp: () => focus(rows[at - 1]),
      Home: () => focus(rows[0]),
      End: () => focus(rows.at(-1)),
      ArrowRight: () => (open.has(topic) || children.size === 0 ? focus(rows[at + 1]) : toggle(topic, true)),
      ArrowLeft: () => (open.has(topic) ? toggle(topic, false) : focus(findParent(rows, at))),
      Enter: () => onSelect(topic),
      ' ': () => onSelect(topic),
    }
    const act = acts[event.key]
    if (act === undefined) return
    event.preventDefault()
    act()
  }
  return (
    <ul role="tree" class="tree" aria-label={t('topics')} ref={place} onKeyDown={move}>
      {rows.map(({ node, depth }) => (
        <li
          key={node.topic}
          role="treeitem"
          aria-level={depth + 1}
          aria-expanded={node.children.size === 0 ? undefined : open.has(node.topic) || search !== ''}
          aria-selected={node.topic === selected}
          tabIndex={node === current?.node ? 0 : -1}
          style={{ paddingInlineStart: `${depth + 0.5}rem` }}
          onClick={() => {
            setFocused(node.topic)
            onSelect(node.topic)
            if (node.children.size > 0) toggle(node.topic, !open.has(node.topic))
          }}
        >
          {formatNode(node, seconds)}
        </li>
      ))}
    </ul>
  )
}

function formatNode(node: TopicNode, seconds: number): string {
  const rate = formatNumber(countMessagesBelow(node) / Math.max(1, seconds), 1)
  const value = node.last === undefined ? '' : ` ${formatValue(node.last)}`
  return `${escapeHiddenLetters(node.level)} ${rate}/s${value}`
}

/** Of each message once: the tree is drawn several times a second. */
const values = new WeakMap<LiveMessage, string>()
/** Of the payload, as many as a value may need: groups of four are three bytes. */
const maxBase64 = 240

function formatValue(message: LiveMessage): string {
  let value = values.get(message)
  if (value === undefined) {
    const bytes = decodeBase64(message.payload_base64.slice(0, maxBase64))
    value = formatPayload(bytes, isText(bytes) ? 'text' : 'hex').slice(0, maxValue)
    values.set(message, value)
  }
  return value
}

/** The last letter may be cut. */
function isText(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true })
    return true
  } catch {
    return false
  }
}

function findParent(rows: readonly Row[], at: number): Row | undefined {
  const depth = rows[at]?.depth ?? 0
  return rows.slice(0, at).findLast((row) => row.depth < depth)
}

/** Visible rows. A search opens all ancestors of the topics that it finds. */
function listRows(root: TopicNode, open: ReadonlySet<string>, search: string): readonly Row[] {
  const rows: Row[] = []
  const wanted = search.toLowerCase()
  const add = (node: TopicNode, depth: number): void => {
    for (const child of node.children.values()) {
      if (rows.length >= maxRows) return
      const isFound = wanted === '' || child.topic.toLowerCase().includes(wanted) || hasBelow(child, wanted)
      if (!isFound) continue
      rows.push({ node: child, depth })
      if (wanted !== '' || open.has(child.topic)) add(child, depth + 1)
    }
  }
  add(root, 0)
  return rows
}

function hasBelow(node: TopicNode, wanted: string): boolean {
  for (const child of node.children.values()) {
    if (child.topic.toLowerCase().includes(wanted) || hasBelow(child, wanted)) return true
  }
  return false
}
