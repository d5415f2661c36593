import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import { type Result, formatFailure } from '../state/api.ts'
import { t } from '../state/messages.ts'
import { showDone } from '../state/results.ts'
import { FormDialog } from './dialogs.tsx'
import { TextArea } from './fields.tsx'

const editorRows = 20

interface JsonDialogProps {
  readonly title: string
  /** Name of the action, for the status line. */
  readonly act: string
  readonly value: unknown
  readonly onClose: () => void
  readonly onDone: () => void
  readonly onSave: (value: Readonly<Record<string, unknown>>) => Promise<Result<unknown>>
  /** Above the text. */
  readonly children?: ComponentChildren
}

/** Settings as the API gives and takes them; secrets are `******` and stay when they are sent back like that. */
export function JsonDialog({ title, act, value, onClose, onDone, onSave, children }: JsonDialogProps): JSX.Element {
  const [text, setText] = useState(JSON.stringify(value, undefined, 2))
  const save = async (): Promise<string | undefined> => {
    const parsed = parseObject(text)
    if (typeof parsed === 'string') return parsed
    const result = await onSave(parsed)
    if ('failure' in result) return formatFailure(result.failure)
    showDone(act)
    onDone()
    return undefined
  }
  return (
    <FormDialog title={title} onClose={onClose} onSave={save}>
      {children}
      <TextArea label={t('settings')} value={text} onInput={setText} rows={editorRows} />
    </FormDialog>
  )
}

/** A text where it is none. */
export function parseObject(text: string): Readonly<Record<string, unknown>> | string {
  try {
    const parsed: unknown = JSON.parse(text)
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed))
      return parsed as Readonly<Record<string, unknown>>
    return t('notJson')
  } catch (error) {
    return `${t('notJson')}: ${(error as Error).message}`
  }
}
