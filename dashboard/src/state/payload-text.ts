// The text of a payload as the page shows it. JSON is laid out by its tokens: no digit, escape or duplicate key changes.

import { escapeHiddenLetters } from './visible.ts'

export type PayloadForm = 'json' | 'text' | 'hex'

/** The form in which the payload can be read best. */
export function selectBestForm(bytes: Uint8Array): PayloadForm {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return /^\s*[{[]/.test(text) && isJson(text) ? 'json' : 'text'
  } catch {
    return 'hex'
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Returns the payload as it was published: the text, or the bytes in hexadecimal. */
export function copyText(bytes: Uint8Array, form: PayloadForm): string {
  return form === 'hex' ? formatHex(bytes) : new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
}

/** Returns the payload for reading: JSON has a line for each value, and hidden characters are visible. */
export function formatPayload(bytes: Uint8Array, form: PayloadForm): string {
  if (form === 'hex') return formatHex(bytes)
  const text = copyText(bytes, form)
  const lines = form === 'json' && isJson(text) ? layOutJson(text) : text
  return lines.split('\n').map(escapeHiddenLetters).join('\n')
}

function formatHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(' ')
}

/** [RFC8259 2] A string, a number or word, or a structural character. White space between tokens is not part of the text. */
const jsonToken = /"(?:[^"\\]|\\.)*"|[^\s{}[\],:"]+|[{}[\],:]/g

/** Returns valid JSON with a line for each value. The tokens are those of `text`, in their order. */
export function layOutJson(text: string): string {
  const tokens = text.match(jsonToken) ?? []
  const parts: string[] = []
  let depth = 0
  const breakLine = (): void => {
    parts.push('\n', '  '.repeat(depth))
  }
  for (const [index, token] of tokens.entries()) {
    if (token === '}' || token === ']') {
      depth -= 1
      if (!isOpening(tokens[index - 1])) breakLine()
    } else if (isOpening(tokens[index - 1]) || tokens[index - 1] === ',') breakLine()
    parts.push(token)
    if (token === ':') parts.push(' ')
    if (isOpening(token)) depth += 1
  }
  return parts.join('')
}

function isOpening(token: string | undefined): boolean {
  return token === '{' || token === '['
}
