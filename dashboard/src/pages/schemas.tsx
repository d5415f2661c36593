// Schemas by which rules read and write payloads.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { FormDialog } from '../parts/dialogs.tsx'
import { Select, TextArea, TextField } from '../parts/fields.tsx'
import { FailureNotice, Page } from '../parts/page.tsx'
import { DataTable } from '../parts/table.tsx'
import { api, isAllowed, formatFailure } from '../state/api.ts'
import { escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { listMs, useQuery } from '../state/query.ts'
import { confirmBefore } from '../state/confirmations.ts'
import { showDone, showResult } from '../state/results.ts'

type Schema = Extract<Awaited<ReturnType<typeof api.get_schemas>>, { reply: unknown }>['reply'][number]

const sourceRows = 14

export default function Schemas(): JSX.Element {
  const [edited, setEdited] = useState<Schema | 'new'>()
  const found = useQuery('schemas', (options) => api.get_schemas({}, options), listMs)
  const canChange = isAllowed('add_schema')
  const remove = ({ name }: Schema): void =>
    confirmBefore({
      title: t('deleteTitle', { name: escapeHiddenLetters(name) }),
      text: t('deleteSchemaText'),
      act: t('delete'),
      run: async () => {
        showResult(t('deleteTitle', { name }), await api.remove_schema({ params: { name } }))
        found.reload()
        return true
      },
    })
  return (
    <Page
      title={t('schemas')}
      isLive={true}
      actions={
        canChange && (
          <button type="button" onClick={() => setEdited('new')}>
            {t('addSchema')}
          </button>
        )
      }
    >
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('schemas')}
        rows={found.reply}
        rowKey={({ name }) => name}
        query={found}
        empty={t('noSchemas')}
        columns={[
          { key: 'name', title: t('name'), value: ({ name }) => name },
          { key: 'type', title: t('type'), value: ({ type }) => type },
          { key: 'description', title: t('description'), value: ({ description }) => description },
        ]}
        actions={[
          { word: t(canChange ? 'edit' : 'show'), run: setEdited },
          ...(canChange ? [{ word: t('delete'), isDangerous: true, run: remove }] : []),
        ]}
      />
      {edited !== undefined && (
        <SchemaDialog
          known={edited === 'new' ? undefined : edited}
          onClose={() => setEdited(undefined)}
          onDone={found.reload}
        />
      )}
    </Page>
  )
}

interface DialogProps {
  /** undefined: a new one. */
  readonly known: Schema | undefined
  readonly onClose: () => void
  readonly onDone: () => void
}

function SchemaDialog({ known, onClose, onDone }: DialogProps): JSX.Element {
  const [name, setName] = useState('')
  const [type, setType] = useState<Schema['type']>(known?.type ?? 'json')
  const [source, setSource] = useState(known?.source ?? '')
  const [description, setDescription] = useState(known?.description ?? '')
  const canChange = isAllowed('add_schema')
  const title = known === undefined ? t('addSchema') : t('editTitle', { name: escapeHiddenLetters(known.name) })
  const save = async (): Promise<string | undefined> => {
    const body = { type, source, description }
    const result =
      known === undefined
        ? await api.add_schema({ body: { name, ...body } })
        : await api.change_schema({ params: { name: known.name }, body })
    if ('failure' in result) return formatFailure(result.failure)
    showDone(known === undefined ? `${title}: ${name}` : title)
    onDone()
    return undefined
  }
  return (
    <FormDialog title={title} onClose={onClose} onSave={save} isReadOnly={!canChange}>
      {known === undefined && <TextField label={t('name')} value={name} onInput={setName} isRequired={true} />}
      <Select
        label={t('type')}
        value={type}
        isDisabled={!canChange}
        options={[
          ['json', 'JSON Schema'],
          ['avro', 'Avro'],
          ['protobuf', 'Protobuf'],
        ]}
        onChange={setType}
      />
      <TextArea label={t('source')} value={source} onInput={setSource} rows={sourceRows} isReadOnly={!canChange} />
      <TextField label={t('description')} value={description} onInput={setDescription} isDisabled={!canChange} />
    </FormDialog>
  )
}
