// Renders rows of comma-separated values (RFC 4180) from a template. Inserted values are quoted if necessary.

import type { CompileTemplate, RuleData } from './sink.ts'

/** Missing values and null are empty. The row has no end of line. */
export function createCsvRenderer(text: string, compile: CompileTemplate): (data: RuleData) => Buffer {
  const parts = compile(text).parts.map((part) => {
    if (typeof part === 'string') return Buffer.from(part)
    return compile((part as { readonly text: string }).text)
  })
  return (data) =>
    Buffer.concat(
      parts.map((part) => {
        if (part instanceof Uint8Array) return part
        const [value] = part.resolveValues(data)
        return value === undefined || value === null ? emptyField : encodeCsvField(part.render(data))
      }),
    )
}

const emptyField = Buffer.alloc(0)

/** Encodes one field. Bytes that are not text are unchanged. */
export function encodeCsvField(value: string | Uint8Array): Buffer {
  const encoding = typeof value === 'string' ? 'utf8' : 'latin1'
  const text = typeof value === 'string' ? value : Buffer.from(value).toString('latin1')
  const quoted = /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
  return Buffer.from(quoted, encoding)
}
