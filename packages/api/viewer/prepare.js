/**
 * What npm runs after an installation: builds the viewer, unless it was installed without the tools for that
 * (`--omit=dev`).
 */
import { fileURLToPath } from "node:url"

const tools = await import("vite").catch((cause) => {
  if (cause.code === "ERR_MODULE_NOT_FOUND") return undefined
  throw cause
})

if (tools === undefined)
  console.warn("the viewer is not built: vite is a development dependency (npm run build:viewer)")
else await tools.build({ root: fileURLToPath(new URL(".", import.meta.url)), logLevel: "warn" })
