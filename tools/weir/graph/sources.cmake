# weir_graph_sources(TARGET): gives a program the drawings of `weir graph`.
function(weir_graph_sources target)
  set(folder ${PROJECT_SOURCE_DIR}/tools/weir)
  target_sources(
    ${target}
    PRIVATE ${folder}/text.cpp
            ${folder}/xml_text.cpp
            ${folder}/graph/dot_text.cpp
            ${folder}/graph/drawing.cpp
            ${folder}/graph/drawn_boxes.cpp
            ${folder}/graph/drawn_graph.cpp
            ${folder}/graph/driver_label.cpp
            ${folder}/graph/html_label.cpp
            ${folder}/graph/node_description.cpp
  )
  target_include_directories(${target} PRIVATE ${folder})
endfunction()
