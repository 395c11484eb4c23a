/**
 * Connections between browsers are what no content security policy forbids: neither Chromium nor Firefox knows its directive
 * `webrtc`. So the page gives up what makes them, before any other part of it runs. Workers have none.
 */
for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "mozRTCPeerConnection"]) Reflect.deleteProperty(globalThis, name);

export {};
