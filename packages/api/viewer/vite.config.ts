/**
 * Builds the viewer into one file, `packages/api/dist/viewer/index.html`, that needs nothing else: script and style are
 * inlined.
 *
 * A content security policy allows exactly that script (by its hash), no remote images and requests to the page's own
 * origin only; text of rollouts can therefore run nothing, even where it got past the sanitiser. `#atropos-data` stays
 * empty for others to fill. Licence notices of what is bundled are part of every copy, in `#atropos-licences`
 * (help shows them) and in `NOTICES.txt`.
 */
import { createHash } from "node:crypto"
import { fileURLToPath } from "node:url"
import { defaultClientConditions, defineConfig, type Plugin } from "vite"
import * as Notices from "../../../scripts/internal/Notices.ts"

/**
 * JavaScript safe inside a script element: sequences that HTML reads as an end or a comment are escaped.
 */
const inScript = (code: string): string =>
  code
    .replaceAll(/<(?=\/script|script|!--)/gi, String.raw`\x3C`)
    .replaceAll(String.raw`\x3C/script`, String.raw`<\/script`)

const policy = (script: string): string =>
  [
    "default-src 'none'",
    `script-src 'sha256-${createHash("sha256").update(script).digest("base64")}'`,
    "style-src 'unsafe-inline'",
    "img-src data: blob:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'"
  ].join("; ")

const oneFile: Plugin = {
  name: "atropos-one-file",
  enforce: "post",
  generateBundle(_, bundle) {
    const page = bundle["index.html"]
    if (page?.type !== "asset") return this.error("the build made no index.html")
    const notices = Notices.print("The viewer", Notices.collect(Notices.filesIn(bundle)))
    this.emitFile({ type: "asset", fileName: "NOTICES.txt", source: notices })
    let html = String(page.source).replace(
      `<script id="atropos-licences" type="text/plain">`,
      (element) => element + inScript(notices)
    )
    for (const [name, output] of Object.entries(bundle)) {
      if (output === page || name === "NOTICES.txt") continue
      if (output.type === "chunk") {
        const script = inScript(output.code.trim())
        html = html
          .replace(new RegExp(`\\s*<script[^>]*src="[^"]*${output.fileName}"[^>]*></script>`), "")
          .replace("</body>", () => `  <script type="module">${script}</script>\n  </body>`)
          .replace(
            "<meta charset",
            () => `<meta http-equiv="Content-Security-Policy" content="${policy(script)}" />\n    <meta charset`
          )
      } else if (output.fileName.endsWith(".css")) {
        const style = String(output.source)
          .trim()
          .replaceAll("</style", String.raw`<\/style`)
        html = html.replace(
          new RegExp(`<link[^>]*href="[^"]*${output.fileName}"[^>]*>`),
          () => `<style>${style}</style>`
        )
      } else return this.error(`${output.fileName} was not inlined: the viewer is one file`)
      delete bundle[name]
    }
    page.source = html
  }
}

export default defineConfig(({ command }) => {
  // Tests and installations may name another mode; what is built is always for use.
  if (command === "build") process.env["NODE_ENV"] = "production"
  return {
    root: fileURLToPath(new URL(".", import.meta.url)),
    base: "./",
    resolve: { conditions: ["atropos-src", ...defaultClientConditions] },
    plugins: [oneFile],
    build: {
      outDir: "../dist/viewer",
      emptyOutDir: true,
      target: "es2023",
      cssTarget: ["chrome123", "firefox120", "safari17.5"],
      assetsInlineLimit: () => true,
      cssCodeSplit: false,
      modulePreload: false,
      chunkSizeWarningLimit: 4096,
      reportCompressedSize: false,
      rolldownOptions: {
        output: { codeSplitting: false },
        // "use client" in @tanstack/react-table is for servers that render: here everything is the client.
        onLog: (level, log, report) => {
          if (log.code !== "MODULE_LEVEL_DIRECTIVE" || !log.message.includes('"use client"')) report(level, log)
        }
      }
    },
    server: { proxy: { "/v1": "http://127.0.0.1:8000" } }
  }
})
