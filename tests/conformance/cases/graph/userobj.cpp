// SPDX-License-Identifier: Apache-2.0
// cases/graph/userobj.cpp - user objects.
#include "cases/graph/user_objects.hpp"
#include "probe/probe.hpp"

namespace weir::conformance {

void userobj_cases() {
  add("userobj.create_arguments", [](Rec& r) {
    auto& d = *leak<Destroyed>();
    CUuserObject u = nullptr;
    r.k("flags0", cuUserObjectCreate(&u, &d, destroyed_fn, 1, 0));
    r.k("flags2", cuUserObjectCreate(&u, &d, destroyed_fn, 1, 2));
    r.k("flags3", cuUserObjectCreate(&u, &d, destroyed_fn, 1, 3));
    r.k("refs0", cuUserObjectCreate(&u, &d, destroyed_fn, 0, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    r.k("refs_over_int",
        cuUserObjectCreate(&u, &d, destroyed_fn, 0x80000000u, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    r.k("null_destroy", cuUserObjectCreate(&u, &d, nullptr, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    u = nullptr;
    r.k("ok", cuUserObjectCreate(&u, &d, destroyed_fn, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    r.k("retain0", cuUserObjectRetain(u, 0));
    r.k("retain_over_int", cuUserObjectRetain(u, 0x80000000u));
    r.k("release0", cuUserObjectRelease(u, 0));
    r.k("release_over_int", cuUserObjectRelease(u, 0x80000000u));
    r.k("not_destroyed", still(d));
    r.k("release", cuUserObjectRelease(u, 1));
    r.k("destroyed", gone(d));
  });
  add("userobj.refcount", [](Rec& r) {
    auto& d = *leak<Destroyed>();
    CUuserObject u = make_object(d, 2);
    r.k("release1", cuUserObjectRelease(u, 1));
    r.k("still", still(d));
    r.k("retain3", cuUserObjectRetain(u, 3));
    r.k("release3", cuUserObjectRelease(u, 3));
    r.k("still2", still(d));
    r.k("release_last", cuUserObjectRelease(u, 1));
    r.k("gone", gone(d));
    r.k("times", d.n.load());
    r.k("~own_thread", d.id != std::this_thread::get_id());
  });
  add("userobj.release_all_at_once", [](Rec& r) {
    auto& d = *leak<Destroyed>();
    CUuserObject u = make_object(d, 5);
    r.k("release5", cuUserObjectRelease(u, 5));
    r.k("gone", gone(d));
  });
  add("userobj.graph_keeps", [](Rec& r) {
    auto& d = *leak<Destroyed>();
    CUuserObject u = make_object(d);
    Graph gr;
    r.k("retain", cuGraphRetainUserObject(gr, u, 1, 0));
    r.k("release_own", cuUserObjectRelease(u, 1));
    r.k("still", still(d));
    r.k("destroy_graph", gr.destroy());
    r.k("gone", gone(d));
  });
  add("userobj.graph_move", [](Rec& r) {
    auto& d = *leak<Destroyed>();
    CUuserObject u = make_object(d);
    Graph gr;
    r.k("move", cuGraphRetainUserObject(gr, u, 1, CU_GRAPH_USER_OBJECT_MOVE));
    r.k("still", still(d));
    r.k("destroy_graph", gr.destroy());
    r.k("gone", gone(d));
  });
  add("userobj.graph_release", ISO, [](Rec& r) {
    auto& d = *leak<Destroyed>();
    CUuserObject u = make_object(d, 2);
    Graph gr;
    r.k("move", cuGraphRetainUserObject(gr, u, 1, CU_GRAPH_USER_OBJECT_MOVE));
    r.k("release_more_than_owned", cuGraphReleaseUserObject(gr, u, 2));
    r.k("release", cuGraphReleaseUserObject(gr, u, 1));
    r.k("release_again", cuGraphReleaseUserObject(gr, u, 1));
    r.k("still", still(d));
    r.k("release_own", cuUserObjectRelease(u, 1));
    r.k("gone", gone(d));
  });
  add("userobj.graph_arguments", ISO, [](Rec& r) {
    auto& d = *leak<Destroyed>();
    CUuserObject u = make_object(d);
    Graph gr;
    r.k("count0", cuGraphRetainUserObject(gr, u, 0, 0));
    r.k("count_over_int", cuGraphRetainUserObject(gr, u, 0x80000000u, 0));
    r.k("flags2", cuGraphRetainUserObject(gr, u, 1, 2));
    r.k("null_graph", cuGraphRetainUserObject(nullptr, u, 1, 0));
    r.k("null_object", cuGraphRetainUserObject(gr, nullptr, 1, 0));
    r.k("release_never_retained", cuGraphReleaseUserObject(gr, u, 1));
    r.k("release0", cuGraphReleaseUserObject(gr, u, 0));
    r.k("still", still(d));  // the release that should have failed dropped the only reference: none
                             // is left to release
  });
  add("userobj.exec_keeps", [](Rec& r) {
    auto& d = *leak<Destroyed>();
    CUuserObject u = make_object(d);
    auto gr = std::make_unique<Graph>();
    add_empty(*gr);
    OK(cuGraphRetainUserObject(*gr, u, 1, CU_GRAPH_USER_OBJECT_MOVE));
    Exec x(*gr);
    gr.reset();
    r.k("still_after_graph", still(d));
    r.k("destroy_exec", x.destroy());
    r.k("gone", gone(d));
  });
  add("userobj.exec_after_graph_release", [](Rec& r) {
    // the executable keeps references that its graph drops after instantiation
    auto& d = *leak<Destroyed>();
    CUuserObject u = make_object(d);
    Graph gr;
    add_empty(gr);
    OK(cuGraphRetainUserObject(gr, u, 1, CU_GRAPH_USER_OBJECT_MOVE));
    Exec x(gr);
    r.k("graph_release", cuGraphReleaseUserObject(gr, u, 1));
    r.k("still", still(d));
    r.k("destroy_exec", x.destroy());
    r.k("gone", gone(d));
  });
  add("userobj.running_launch_keeps", [](Rec& r) {
    auto& d = *leak<Destroyed>();
    CUuserObject u = make_object(d);
    Stream s(NB);
    ValueGate v;
    auto gr = std::make_unique<Graph>();
    add_gate(*gr, {}, v);
    OK(cuGraphRetainUserObject(*gr, u, 1, CU_GRAPH_USER_OBJECT_MOVE));
    Exec x(*gr);
    OK(cuGraphLaunch(x, s));
    gr.reset();
    r.k("destroy_exec", x.destroy());
    r.k("still_while_running", still(d));
    v.open();
    OK(cuStreamSynchronize(s));
    r.k("gone", gone(d));
  });
  add("userobj.clone_keeps", [](Rec& r) {
    auto& d = *leak<Destroyed>();
    CUuserObject u = make_object(d);
    Graph gr;
    OK(cuGraphRetainUserObject(gr, u, 1, CU_GRAPH_USER_OBJECT_MOVE));
    CUgraph c = nullptr;
    OK(cuGraphClone(&c, gr));
    Graph own(c);
    OK(gr.destroy());
    r.k("still", still(d));
    r.k("destroy_clone", own.destroy());
    r.k("gone", gone(d));
  });
  add("userobj.child_keeps", [](Rec& r) {
    auto& d = *leak<Destroyed>();
    CUuserObject u = make_object(d);
    Graph gr, ch;
    add_empty(ch);
    OK(cuGraphRetainUserObject(ch, u, 1, CU_GRAPH_USER_OBJECT_MOVE));
    add_child(gr, {}, ch);
    OK(ch.destroy());
    r.k("still", still(d));
    r.k("destroy_parent", gr.destroy());
    r.k("gone", gone(d));
  });
  add("userobj.update_replaces", [](Rec& r) {
    auto& d1 = *leak<Destroyed>();
    auto& d2 = *leak<Destroyed>();
    CUuserObject u1 = make_object(d1), u2 = make_object(d2);
    Graph a, b;
    add_label(a, {}, "a");
    add_label(b, {}, "b");
    OK(cuGraphRetainUserObject(a, u1, 1, CU_GRAPH_USER_OBJECT_MOVE));
    OK(cuGraphRetainUserObject(b, u2, 1, CU_GRAPH_USER_OBJECT_MOVE));
    Exec x(a);
    OK(a.destroy());
    CUgraphExecUpdateResultInfo i;
    r.k("update", cuGraphExecUpdate(x, b, &i));
    OK(b.destroy());
    r.k("first_gone_after_update", gone(d1, 500));
    r.k("second_kept", still(d2));
    r.k("destroy_exec", x.destroy());
    r.k("first_gone", gone(d1));
    r.k("second_gone", gone(d2));
  });
  add("userobj.two_graphs", [](Rec& r) {
    auto& d = *leak<Destroyed>();
    CUuserObject u = make_object(d);
    Graph a, b;
    OK(cuGraphRetainUserObject(a, u, 2, 0));
    OK(cuGraphRetainUserObject(b, u, 1, 0));
    OK(cuUserObjectRelease(u, 1));
    OK(a.destroy());
    r.k("still", still(d));
    OK(b.destroy());
    r.k("gone", gone(d));
  });
  add("userobj.capture_graph", [](Rec& r) {
    auto& d = *leak<Destroyed>();
    CUuserObject u = make_object(d);
    Stream s(NB);
    begin(s);
    lab(s, "a");
    r.k("retain_during",
        cuGraphRetainUserObject(capture_graph(s), u, 1, CU_GRAPH_USER_OBJECT_MOVE));
    CUgraph gr = nullptr;
    r.k("end", cuStreamEndCapture(s, &gr));
    r.k("still", still(d));
    if (gr) cuGraphDestroy(gr);
    r.k("gone", gone(d));
  });
  add("userobj.invalidated_capture", [](Rec& r) {
    auto& d = *leak<Destroyed>();
    CUuserObject u = make_object(d);
    Stream s(NB);
    begin(s);
    lab(s, "a");
    OK(cuGraphRetainUserObject(capture_graph(s), u, 1, CU_GRAPH_USER_OBJECT_MOVE));
    cuStreamAddCallback(
        s, [](CUstream, CUresult, void*) {}, nullptr, 0);
    r.k("~gone_at_invalidation", gone(d, 300));
    CUgraph gr = nullptr;
    r.k("end", cuStreamEndCapture(s, &gr));
    r.k("gone", gone(d));
  });
  add("userobj.destroy_order_of_two", [](Rec& r) {
    auto& t = new_trace();
    struct Item {
      Trace* t;
      const char* n;
    };
    auto fn = [](void* p) {
      auto* i = static_cast<Item*>(p);
      i->t->add(i->n);
    };
    CUuserObject a = nullptr, b = nullptr;
    OK(cuUserObjectCreate(&a, new Item{&t, "a"}, fn, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    OK(cuUserObjectCreate(&b, new Item{&t, "b"}, fn, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    Graph gr;
    OK(cuGraphRetainUserObject(gr, a, 1, CU_GRAPH_USER_OBJECT_MOVE));
    OK(cuGraphRetainUserObject(gr, b, 1, CU_GRAPH_USER_OBJECT_MOVE));
    OK(gr.destroy());
    r.k("both", t.wait_size(2, 2000));
    r.k("~order", t.str());
  });
}

}  // namespace weir::conformance
