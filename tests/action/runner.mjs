/** Runs the steps of action.yml as GitHub's runner does, against a repository in a temporary folder. */
import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";

export const root = fileURLToPath(new URL("../..", import.meta.url));
export const COMMAND = process.env.LITECAST_COMMAND ?? path.join(process.env.CARGO_TARGET_DIR ?? path.join(root, "target"), "debug/litecast");
const action = parse(readFileSync(path.join(root, "action.yml"), "utf8"));

/** The expressions that action.yml has: names with dots, texts, `==`, `!=`, `&&`, `||` and `cancelled()`. */
function evaluate(expression, context) {
  const tokens = /'[^']*'|==|!=|&&|\|\||!|\(|\)|cancelled\(\)|[a-z_][\w-]*(?:\.[\w-]+)+|\s+/gy;
  let code = "";
  while (tokens.lastIndex < expression.length) {
    const at = tokens.lastIndex;
    const [token] = tokens.exec(expression) ?? [];
    if (token === undefined) throw new Error(`expected an expression that this runner knows, found ${expression.slice(at)}`);
    if (token === "cancelled()") code += "false";
    else if (/^[a-z_]/.test(token)) code += `(${JSON.stringify(token)}.split(".").reduce((value, key) => value?.[key], context) ?? "")`;
    else code += token;
  }
  return Function("context", `return ${code};`)(context);
}

const interpolate = (text, context) => String(text).replace(/\$\{\{(.*?)\}\}/g, (_, expression) => evaluate(expression.trim(), context));

/** Outputs that a step wrote: `name=value`, or `name<<END`, lines, `END`. */
function outputsOf(file) {
  const outputs = {};
  const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
  for (let i = 0; i < lines.length; i += 1) {
    const [, name, end] = /^([\w-]+)<<(.+)$/.exec(lines[i]) ?? [];
    if (name === undefined) continue;
    const stop = lines.indexOf(end, i + 1);
    outputs[name] = lines.slice(i + 1, stop).join("\n");
    i = stop;
  }
  return outputs;
}

function execute(script, cwd, env) {
  return new Promise((resolve) => {
    const child = spawn("bash", ["--noprofile", "--norc", "-eo", "pipefail", "-c", script], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (data) => { stdout += data; });
    child.stderr.on("data", (data) => { stderr += data; });
    child.on("close", (status) => resolve({ status, stdout, stderr }));
  });
}

/**
 * Runs the action in a repository. Its result: `status` of the steps together, `steps` that ran or were used, by name,
 * `outputs`, `table`, `comment`, `summary`, `stdout` and `stderr`. `uses` stands for the actions of others.
 */
export async function runAction(repository, { inputs = {}, event = {}, env = {}, github = {}, uses = () => ({}), actionPath = root } = {}) {
  const temp = mkdtempSync(path.join(os.tmpdir(), "runner-"));
  const eventFile = path.join(temp, "event.json");
  writeFileSync(eventFile, JSON.stringify(event));
  const defaults = Object.fromEntries(Object.entries(action.inputs).map(([name, { default: value }]) => [name, value ?? ""]));
  const context = { inputs: { ...defaults, ...inputs }, github: { token: "t", event_name: event.pull_request ? "pull_request" : "push", action_repository: "", ...github }, steps: {}, runner: { temp } };
  for (const [name, value] of Object.entries(context.inputs)) context.inputs[name] = interpolate(value, context);
  const result = { status: 0, steps: [], stdout: "", stderr: "", summary: "", outputs: {} };
  let isFailed = false;
  for (const [i, one] of action.runs.steps.entries()) {
    const condition = one.if ?? "";
    if (isFailed && !condition.includes("cancelled()")) continue;
    if (condition !== "" && !evaluate(condition, context)) continue;
    result.steps.push(one.name);
    const values = Object.fromEntries(Object.entries(one.env ?? one.with ?? {}).map(([name, value]) => [name, interpolate(value, context)]));
    let outputs;
    if (one.uses) {
      outputs = uses(one.uses, values);
    } else {
      const files = ["output", "summary"].map((name) => path.join(temp, `${name}-${i}`));
      const { PATH, HOME } = process.env;
      const done = await execute(one.run, repository, {
        PATH, HOME, RUNNER_TEMP: temp, GITHUB_ACTION_PATH: actionPath, GITHUB_EVENT_PATH: eventFile, GITHUB_WORKSPACE: repository,
        GITHUB_OUTPUT: files[0], GITHUB_STEP_SUMMARY: files[1], GITHUB_REPOSITORY: "o/r", GITHUB_WORKFLOW: "Models", GITHUB_JOB: "models",
        GITHUB_API_URL: "http://127.0.0.1:9", GITHUB_SERVER_URL: "http://127.0.0.1:9", ...env, ...values,
      });
      outputs = outputsOf(files[0]);
      result.stdout += done.stdout;
      result.stderr += done.stderr;
      if (existsSync(files[1])) result.summary += readFileSync(files[1], "utf8");
      if (done.status !== 0) {
        isFailed = true;
        result.status ||= done.status;
      }
    }
    if (one.id) context.steps[one.id] = { outputs };
  }
  result.outputs = Object.assign({}, ...Object.values(context.steps).map(({ outputs }) => outputs));
  for (const name of ["table", "comment", "junit"]) if (result.outputs[name]) result[name] = readFileSync(result.outputs[name], "utf8");
  rmSync(temp, { recursive: true });
  return result;
}

/** A repository with one commit of `files` (path → path of a file, text, or `{ link }`), as a clone of a bare one. */
export function makeRepository(context, files) {
  const folder = mkdtempSync(path.join(os.tmpdir(), "models-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const repository = path.join(folder, "work");
  const git = (...args) => execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.org", ...args], { cwd: repository, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
  execFileSync("git", ["init", "--quiet", "--bare", "--initial-branch=main", path.join(folder, "origin")]);
  execFileSync("git", ["clone", "--quiet", path.join(folder, "origin"), repository], { stdio: "ignore" });
  const change = (changes) => {
    for (const [name, content] of Object.entries(changes)) {
      const file = path.join(repository, name);
      rmSync(file, { force: true });
      if (content === null) continue;
      mkdirSync(path.dirname(file), { recursive: true });
      if (typeof content === "string" || Buffer.isBuffer(content)) writeFileSync(file, content);
      else if (content.copy) cpSync(path.join(root, content.copy), file);
      else symlinkSync(content.link, file);
    }
  };
  const commit = (changes) => {
    change(changes);
    git("add", "--all", "--force");
    git("commit", "--quiet", "--message", "a change");
    return git("rev-parse", "HEAD");
  };
  const base = commit(files);
  git("push", "--quiet", "origin", "HEAD:main");
  return { repository, base, git, change, commit, origin: path.join(folder, "origin") };
}

/** A server that answers by `answer(request, body)` and keeps the requests. */
export async function serve(context, answer) {
  const requests = [];
  const server = createServer((request, response) => {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => {
      const body = parts.length > 0 ? JSON.parse(Buffer.concat(parts)) : undefined;
      requests.push({ method: request.method, url: request.url, headers: request.headers, body });
      const { status = 200, json, bytes } = answer(request, body) ?? { status: 404, json: { message: "Not Found" } };
      response.writeHead(status, { "content-type": json ? "application/json" : "application/octet-stream" });
      response.end(json ? JSON.stringify(json) : bytes);
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => new Promise((resolve) => server.close(resolve)));
  return { address: `http://127.0.0.1:${server.address().port}`, requests };
}
