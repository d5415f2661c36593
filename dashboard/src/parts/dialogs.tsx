// Native dialogs: they keep the focus inside, close by Escape and give the focus back.

import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { type Confirmation, pendingConfirmation } from '../state/confirmations.ts'
import { TextField, useId } from './fields.tsx'

interface DialogProps {
  readonly title: string
  readonly role?: 'alertdialog'
  /** With a table in it. */
  readonly isWide?: boolean
  readonly onClose: () => void
  readonly children: ComponentChildren
}

export function Dialog({ title, role, isWide = false, onClose, children }: DialogProps): JSX.Element {
  const element = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const before = document.activeElement
    element.current?.showModal()
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={element}
      role={role}
      class={isWide ? 'wide' : undefined}
      aria-labelledby={id}
      onClose={onClose}
      onCancel={onClose}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}

/** The dialog for the action that is to be confirmed, if there is one. */
export function ConfirmationDialog(): JSX.Element | null {
  const confirmation = pendingConfirmation.value
  return confirmation === undefined ? null : <OpenConfirmation key={confirmation.title} confirmation={confirmation} />
}

function OpenConfirmation({ confirmation }: { readonly confirmation: Confirmation }): JSX.Element {
  const { title, text, act, typed, run } = confirmation
  const [given, setGiven] = useState('')
  const [isBusy, setBusy] = useState(false)
  const cancel = useRef<HTMLButtonElement>(null)
  const close = (): void => {
    if (pendingConfirmation.value === confirmation) pendingConfirmation.value = undefined
  }
  useEffect(() => cancel.current?.focus(), [])
  const runAction = async (): Promise<void> => {
    setBusy(true)
    const isDone = await run()
    setBusy(false)
    if (isDone) close()
  }
  return (
    <Dialog title={title} role="alertdialog" onClose={close}>
      <div>{text}</div>
      {typed !== undefined && (
        <TextField label={t('typeToConfirm', { name: escapeHiddenLetters(typed) })} value={given} onInput={setGiven} />
      )}
      <div class="dialog-buttons">
        <button type="button" ref={cancel} onClick={close}>
          {t('cancel')}
        </button>
        <button
          type="button"
          class="danger"
          disabled={isBusy || (typed !== undefined && given !== typed)}
          onClick={() => void runAction()}
        >
          {act}
        </button>
      </div>
    </Dialog>
  )
}

interface FormDialogProps {
  readonly title: string
  readonly onClose: () => void
  /** Returns why it failed; undefined: it is done. */
  readonly onSave: () => Promise<string | undefined>
  readonly saveWord?: string
  /** Nothing can be saved: it only shows. */
  readonly isReadOnly?: boolean
  readonly children: ComponentChildren
}

/** A form in a dialog, with `Save` and `Cancel`. */
export function FormDialog(props: FormDialogProps): JSX.Element {
  const { title, onClose, onSave, saveWord, isReadOnly = false, children } = props
  const [problem, setProblem] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const save = async (event: Event): Promise<void> => {
    event.preventDefault()
    setBusy(true)
    const failed = await onSave()
    setBusy(false)
    setProblem(failed)
    if (failed === undefined) onClose()
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={(event) => void save(event)}>
        {children}
        {problem !== undefined && (
          <p role="alert" class="notice failed">
            {escapeHiddenLetters(problem)}
          </p>
        )}
        <div class="dialog-buttons">
          <button type="button" onClick={onClose}>
            {t(isReadOnly ? 'close' : 'cancel')}
          </button>
          {!isReadOnly && (
            <button type="submit" class="primary" disabled={isBusy}>
              {saveWord ?? t('save')}
            </button>
          )}
        </div>
      </form>
    </Dialog>
  )
}
