// The contract as an HTML page, without scripts.

import type { OpenApiDocument, Operation, Parameter } from './open-api.ts'

/** Returns the HTML of the page. */
export function writeApiPage(document: OpenApiDocument): string {
  const byTag = new Map<string, string[]>()
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const [tag = ''] = operation.tags
      byTag.set(tag, [...(byTag.get(tag) ?? []), renderOperation(path, method, operation)])
    }
  }
  const tags = [...byTag.keys()].toSorted()
  const contents = tags.map((tag) => `<a href="#${escapeHtml(tag)}">${escapeHtml(tag)}</a>`).join(' ')
  const sections = tags.map(
    (tag) => `<h2 id="${escapeHtml(tag)}">${escapeHtml(tag)}</h2>\n${(byTag.get(tag) ?? []).join('\n')}`,
  )
  const { title, version, description } = document.info
  return `${head}<title>${escapeHtml(title)}</title></head><body>
<h1>${escapeHtml(title)} <small>${escapeHtml(version)}</small></h1>
<p>${escapeHtml(description)}</p>
<p>For programs: <a href="/api/docs/openapi.json">openapi.json</a> (OpenAPI 3.1). Try it:
<code>curl -u admin http://127.0.0.1:8081/api/v4/brokers</code></p>
<nav>${contents}</nav>
${sections.join('\n')}
</body></html>
`
}

function renderOperation(path: string, method: string, operation: Operation): string {
  const { operationId, summary, parameters = [], requestBody, responses } = operation
  const parts = [`<p>${escapeHtml(summary)} <code>${escapeHtml(operationId)}</code></p>`]
  if (parameters.length > 0) parts.push(`<table>${parameters.map(renderParameter).join('')}</table>`)
  if (requestBody !== undefined) parts.push(`<h4>Body</h4>${renderJson(requestBody['content'])}`)
  for (const [status, { description, content }] of Object.entries(responses)) {
    parts.push(
      `<h4>${escapeHtml(status)}</h4><p>${escapeHtml(description)}</p>${status.startsWith('2') ? renderJson(content) : ''}`,
    )
  }
  const heading = `<b class="${escapeHtml(method)}">${escapeHtml(method.toUpperCase())}</b> <code>${escapeHtml(path)}</code>`
  return `<details id="${escapeHtml(operationId)}"><summary>${heading} ${escapeHtml(summary)}</summary>${parts.join('\n')}</details>`
}

function renderParameter({ name, in: location, required, description, schema }: Parameter): string {
  const cells = [
    `<code>${escapeHtml(name)}</code>`,
    escapeHtml(location),
    required ? 'required' : '',
    escapeHtml(description ?? ''),
  ]
  return `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}<td><code>${escapeHtml(JSON.stringify(schema))}</code></td></tr>`
}

function renderJson(value: unknown): string {
  return `<pre>${escapeHtml(JSON.stringify(value, undefined, 2))}</pre>`
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

function escapeHtml(text: unknown): string {
  return String(text).replaceAll(/[&<>"']/g, (letter) => entities[letter] ?? letter)
}

const style = `body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}
code,pre{font-family:ui-monospace,monospace;font-size:13px}pre{background:#f4f4f4;padding:.7rem;overflow:auto}
details{border:1px solid #ddd;border-radius:4px;margin:.4rem 0;padding:.4rem .7rem}summary{cursor:pointer}
summary b{display:inline-block;min-width:4.2rem}.get{color:#06c}.post{color:#080}.put{color:#a60}.delete{color:#b00}
td{border-top:1px solid #ddd;padding:.2rem .6rem;vertical-align:top}nav a{margin-right:.8rem}small{color:#777}`

const policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

const head = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="content-security-policy" content="${policy}">
<meta name="viewport" content="width=device-width,initial-scale=1"><style>${style}</style>`
