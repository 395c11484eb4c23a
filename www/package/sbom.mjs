/**
 * What the module is made of, as CycloneDX 1.5: every crate that is linked, or that writes code of one that is, with its
 * version, licence, source and checksum. `packages` are `cargo metadata`'s, `lock` is Cargo.lock, and `trees` are what
 * `cargo tree` lists, with and without macros: the metadata has what any part of the workspace links.
 */

const CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index";

/** SHA-256 by `name version`, of Cargo.lock. */
function checksums(lock) {
  const field = (block, name) => block.match(new RegExp(`^${name} = "(.*)"$`, "m"))?.[1];
  const blocks = lock.split("[[package]]").slice(1);
  return new Map(blocks.map((block) => [`${field(block, "name")} ${field(block, "version")}`, field(block, "checksum")]));
}

const purl = ({ name, version }) => `pkg:cargo/${name}@${version}`;
/** Licences as SPDX writes them: older crates have a slash for `OR`. */
const licences = ({ license }) => (license ? [{ expression: license.replaceAll("/", " OR ") }] : []);

/** `name v1.2.3` by line of a tree, which goes on with where the crate lies, or what it is. */
const names = (tree) => tree.split("\n").filter(Boolean).map((line) => line.split(" ").slice(0, 2).join(" "));

function component(crate, sums, linked) {
  const sum = sums.get(`${crate.name} ${crate.version}`);
  return {
    type: "library",
    "bom-ref": purl(crate),
    name: crate.name,
    version: crate.version,
    // Macros, and what they use, run while the module is compiled and are not in it.
    scope: linked.includes(`${crate.name} v${crate.version}`) ? "required" : "excluded",
    licenses: licences(crate),
    purl: purl(crate),
    ...(sum && { hashes: [{ alg: "SHA-256", content: sum }] }),
    ...(crate.repository && { externalReferences: [{ type: "vcs", url: crate.repository }] }),
  };
}

export function sbom({ packages }, trees, lock) {
  const [whole, linked] = [names(trees.whole), names(trees.linked)];
  const is_part = ({ name, version }) => whole.includes(`${name} v${version}`);
  const crates = packages.filter(is_part).sort((a, b) => (purl(a) < purl(b) ? -1 : 1));
  const root = crates.find(({ name, version }) => whole[0] === `${name} v${version}`);
  const foreign = crates.filter(({ source }) => source !== null && source !== CRATES_IO);
  if (foreign.length > 0) throw new Error(`expected crates of crates.io alone, found ${foreign.map(purl).join(", ")}`);
  const sums = checksums(lock);
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: { component: component(root, sums, linked) },
    components: crates.filter(({ id }) => id !== root.id).map((crate) => component(crate, sums, linked)),
  };
}
