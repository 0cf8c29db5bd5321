/** A small SVG picture, in a few colours that are readable on light and dark pages. */

export const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")

export interface Picture {
  readonly width: number
  readonly height: number
  readonly title: string
  /** Its source as text, verbatim. */
  readonly description?: string
  readonly markup: string
}

const style = `text{font:14px system-ui,sans-serif;fill:#1d2430}.word{font-size:12px;fill:#566072;paint-order:stroke;stroke:#fff;stroke-width:5px}
rect{fill:#eef3fa;stroke:#0b57b5}line{stroke:#566072;stroke-width:1.5}.back{fill:#fff;stroke:none}
.code{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}.faint{fill:#566072}.curve{fill:none;stroke:#0b57b5;stroke-width:2}
.good{fill:#bfe6cd;stroke:#1a7f43}.bad{fill:#f6d2d0;stroke:#b3261e}
@media(prefers-color-scheme:dark){text{fill:#dfe5ee}.word{fill:#9aa6b6;stroke:#12161d}line{stroke:#9aa6b6}rect{fill:#1f2a3a;stroke:#79b4ff}.back{fill:#12161d;stroke:none}
.faint{fill:#9aa6b6}.curve{stroke:#79b4ff}.good{fill:#17452a;stroke:#5cc98a}.bad{fill:#54211f;stroke:#f28b82}}`

export const document = ({ description, height, markup, title, width }: Picture): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(title)}">
<title>${escaped(title)}</title>${description === undefined ? "" : `\n<desc>${escaped(description)}</desc>`}
<style>${style}</style>
<rect class="back" width="${width}" height="${height}" rx="0"/>
${markup}
</svg>
`
