import 'uplot/dist/uPlot.min.css'
import './styles.css'
import { type JSX, render } from 'preact'
import { formatTime } from './state/format.ts'
import { session } from './state/login-session.ts'
import { Shell } from './shell/shell.tsx'
import { Login } from './shell/login.tsx'

function App(): JSX.Element {
  return session.value === undefined ? <Login /> : <Shell key={session.value.username} />
}

const root = document.querySelector('#root')
if (root !== null) render(<App />, root)

// The first time that a browser writes takes it many milliseconds: not together with the first table.
requestIdleCallback(() => formatTime(0))
