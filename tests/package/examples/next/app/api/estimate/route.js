// On the server: POST a .tflite file to /api/estimate.
import { load } from "litecast";

export async function POST(request) {
  const litecast = await load();
  return Response.json(litecast.estimate(await request.arrayBuffer()));
}
