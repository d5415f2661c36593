// One SQL rule: written, tried on sample data, and saved; and SQL of old rules converted.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Dialog, FormDialog } from '../parts/dialogs.tsx'
import { TextArea, TextField } from '../parts/fields.tsx'
import { parseObject } from '../parts/json-dialog.tsx'
import { api, formatFailure } from '../state/api.ts'
import { escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { showDone } from '../state/results.ts'
import type { SqlRule } from './sql-rules.tsx'

const sqlRows = 6
const sampleRows = 4
const sampleText = '{"topic": "t/1", "payload": "{\\"temp\\": 21.5}", "qos": 1}'
const newSql = 'SELECT * FROM "t/#"'

interface RuleDialogProps {
  /** undefined: a new one. */
  readonly rule: SqlRule | undefined
  readonly onClose: () => void
  readonly onDone: () => void
}

export function RuleDialog({ rule, onClose, onDone }: RuleDialogProps): JSX.Element {
  const [id, setId] = useState(rule?.id ?? '')
  const [sql, setSql] = useState(rule?.sql ?? newSql)
  const [description, setDescription] = useState(rule?.description ?? '')
  const [actions, setActions] = useState(JSON.stringify(rule?.actions ?? [], undefined, 1))
  const save = async (): Promise<string | undefined> => {
    const listed = parseActions(actions)
    if (typeof listed === 'string') return listed
    const body = { sql, actions: listed, description, enable: rule?.enable ?? true }
    const result =
      rule === undefined
        ? await api.add_rule({ body: id === '' ? body : { ...body, id } })
        : await api.change_rule({ params: { id: rule.id }, body })
    if ('failure' in result) return formatFailure(result.failure)
    showDone(`${t(rule === undefined ? 'addRule' : 'edit')} ${result.reply.id}`)
    onDone()
    return undefined
  }
  const title = rule === undefined ? t('addRule') : t('editTitle', { name: escapeHiddenLetters(rule.id) })
  return (
    <FormDialog title={title} onClose={onClose} onSave={save}>
      {rule === undefined && <TextField label={t('name')} value={id} onInput={setId} />}
      <TextArea label="SQL" value={sql} onInput={setSql} rows={sqlRows} />
      <TextArea label={t('actionsAsJson')} value={actions} onInput={setActions} rows={sampleRows} />
      <TextField label={t('description')} value={description} onInput={setDescription} />
      <Trial sql={sql} />
    </FormDialog>
  )
}

/** A text if it is not a list. */
function parseActions(text: string): SqlRule['actions'] | string {
  const parsed = parseObject(`{"actions":${text}}`)
  if (typeof parsed === 'string') return parsed
  const { actions } = parsed
  return Array.isArray(actions) ? (actions as SqlRule['actions']) : t('notJson')
}

/** Runs the SQL with sample data, without actions. */
function Trial({ sql }: { readonly sql: string }): JSX.Element {
  const [sample, setSample] = useState(sampleText)
  const [output, setOutput] = useState<{ readonly text: string; readonly isFailure: boolean }>()
  const run = async (): Promise<void> => {
    const context = parseObject(sample)
    if (typeof context === 'string') return setOutput({ text: context, isFailure: true })
    const result = await api.test_rule({ body: { sql, context } })
    if ('failure' in result) setOutput({ text: formatFailure(result.failure), isFailure: true })
    else setOutput({ text: JSON.stringify(result.reply, undefined, 2), isFailure: false })
  }
  return (
    <>
      <TextArea label={t('sampleData')} value={sample} onInput={setSample} rows={sampleRows} />
      <button type="button" onClick={() => void run()}>
        {t('test')}
      </button>
      {output !== undefined && (
        <section aria-label={t('testResult')} class="panel" role={output.isFailure ? 'alert' : 'region'}>
          <pre>{escapeHiddenLetters(output.text)}</pre>
        </section>
      )}
    </>
  )
}

export function ConvertDialog({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const [old, setOld] = useState('')
  const [converted, setConverted] = useState<{ readonly sql: string; readonly notes: readonly string[] }>()
  const convert = async (event: Event): Promise<void> => {
    event.preventDefault()
    const result = await api.convert_rule({ body: { rawsql: old } })
    if ('failure' in result) setConverted({ sql: '', notes: [formatFailure(result.failure)] })
    else setConverted({ sql: result.reply.rawsql, notes: result.reply.warnings })
  }
  return (
    <Dialog title={t('convertRule')} onClose={onClose}>
      <form onSubmit={(event) => void convert(event)}>
        <TextArea label={t('oldSql')} value={old} onInput={setOld} rows={sqlRows} />
        <TextArea
          label={t('newSql')}
          value={converted?.sql ?? ''}
          onInput={() => {}}
          rows={sqlRows}
          isReadOnly={true}
        />
        {converted?.notes.map((note) => (
          <p key={note} role="alert" class="notice failed">
            {escapeHiddenLetters(note)}
          </p>
        ))}
        <div class="dialog-buttons">
          <button type="button" onClick={onClose}>
            {t('close')}
          </button>
          <button type="submit" class="primary" disabled={old.trim() === ''}>
            {t('convert')}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
